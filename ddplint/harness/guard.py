"""What every process of a launched program does for its launcher: die with its parent, note its errors and its stack.

This runs before the program's own code, so it imports little and never torch. Notes are JSON files in the launch's
folder, one a process: ``crash-PID.json`` (an error nothing caught), ``end-PID.json`` (the program came to its end, with
or without an error), ``stack-PID.txt`` (where it stood when its time was out).
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

FOLDER = "DDPLINT_RUN_FOLDER"  # where notes go; it names the launch too
DEADLINE = "DDPLINT_RUN_DEADLINE"  # of time.monotonic(), when each process writes down its stack

_RANK_PROCESS = "DDPLINT_RUN_RANK_PROCESS"  # the process that torchrun made a rank
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_kept_open: list[TextIO] = []  # faulthandler writes to their descriptors


def arm() -> None:
    """Guard this process. It never raises: a program must not fail because it is watched."""
    with contextlib.suppress(Exception):
        die_with_parent()
        sys.excepthook = _note_crash
        if _is_rank():
            # The first to be registered is the last to run: what happens later is Python's and torch's own exit.
            atexit.register(note, "end", {})
        _arm_stack()


def die_with_parent() -> None:
    """Let the kernel end this process when its parent ends, however that one ends (Linux; a no-op elsewhere)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended in between
        os.kill(os.getpid(), signal.SIGKILL)


def note(kind: str, content: dict[str, object]) -> None:
    """Write ``content`` as this process's note of that ``kind``; a full disk loses the note, not the program."""
    path = Path(os.environ[FOLDER], f"{kind}-{os.getpid()}.json")
    common = {"time": time.monotonic(), "pid": os.getpid(), "rank": rank_asked(), "argv": sys.orig_argv[1:]}
    with contextlib.suppress(OSError):
        path.write_text(json.dumps({**common, **content}), encoding="utf-8")


def rank_asked() -> int | None:
    """The rank torchrun gave this process; None where it gave none."""
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else None


def _is_rank() -> bool:
    """Whether torchrun made this process a rank; the processes that a rank starts inherit its number."""
    own = str(os.getpid())
    return rank_asked() is not None and os.environ.setdefault(_RANK_PROCESS, own) == own


def _note_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        lines = traceback.format_exception(kind, error, trace)
        note("crash", {"type": kind.__name__, "text": str(error)[:2_000], "trace": "".join(lines)[-20_000:]})
    sys.__excepthook__(kind, error, trace)


def _arm_stack() -> None:
    deadline = os.environ.get(DEADLINE)
    if deadline is None:
        return
    stack = Path(os.environ[FOLDER], f"stack-{os.getpid()}.txt").open("w", encoding="utf-8")  # noqa: SIM115
    _kept_open.append(stack)
    # A header tells whose stack it is; a process that ends in time leaves the header alone.
    stack.write(f"rank {rank_asked()}\n")
    stack.flush()
    faulthandler.dump_traceback_later(max(float(deadline) - time.monotonic(), 0.1), file=stack)
