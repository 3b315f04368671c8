"""Ends what a launch has left running once its launcher is gone, however that one ended.

It runs as a process of its own, and reads a pipe whose other end only the launcher holds: the kernel closes that one
even where the launcher is killed. It imports nothing of this package, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path


def end_marked(mark: str) -> None:
    """Kill the processes that have ``mark`` (``NAME=VALUE``) in their environment, and what they start meanwhile.

    On Linux; elsewhere none can be told.
    """
    for _ in range(50):
        found = _marked(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _marked(mark: str) -> list[int]:
    variable = mark.encode("utf-8", "surrogateescape")
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_marked(sys.argv[1])
