"""Ends what a command has left running, and removes its temporary folder, once the command is killed.

It runs as a process of its own, and reads a pipe whose other end the command holds and writes to before it leaves: the
kernel closes that end even where the command is killed. It imports nothing of this package, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

LEFT = b"."  # what the command writes where it has nothing left to be ended


def end_marked(name: str, folder: str) -> None:
    """Kill the processes whose environment variable ``name`` is ``folder`` or in it, and what they start meanwhile.

    On Linux; elsewhere none can be told.
    """
    for _ in range(50):
        found = _marked(os.fsencode(f"{name}={folder}"))
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _marked(mark: bytes) -> list[int]:
    below = mark + os.fsencode(os.sep)
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if any(one == mark or one.startswith(below) for one in entry.read_bytes().split(b"\0")):
                found.append(int(entry.parent.name))
    return found


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read(1) != LEFT:
        import shutil

        end_marked(*sys.argv[1:])
        shutil.rmtree(sys.argv[2], ignore_errors=True)
