"""Processes that outlive the one that started them, and carry no mark to be told by: a command adopts and ends them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def adopt() -> set[int]:
    """Take in, from now on, what is orphaned among the processes that this one starts; returns its children so far.

    On Linux; elsewhere orphans go their own way.
    """
    _adopt(1)
    return set(_children())


def end(others: set[int]) -> None:
    """End the children of this process but the ``others``, and theirs, which come to it then; it adopts no more."""
    for _ in range(50):
        found = [pid for pid in _children() if pid not in others]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    _adopt(0)


def _adopt(whether: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0)


def _children() -> Iterator[int]:
    own = str(os.getpid())
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # PID (NAME) STATE PARENT ...; a name may hold anything
            if entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1] == own:
                yield int(entry.parent.name)
