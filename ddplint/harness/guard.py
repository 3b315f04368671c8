"""What every process of a launched program does for its launcher: die with its parent, note its errors and its stack.

This runs before the program's own code, so it imports little and never torch. Notes are JSON files in the launch's
folder, one a process: ``crash-PID.json`` (an error nothing caught), ``end-PID.json`` (a rank came to its end, with
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
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

FOLDER = "DDPLINT_RUN_FOLDER"  # where notes go; it names the launch too
NPROC = "DDPLINT_RUN_NPROC"  # how many ranks were asked for
PORT = "DDPLINT_RUN_PORT"  # a port for ranks that the program starts itself
DEADLINE = "DDPLINT_RUN_DEADLINE"  # of time.monotonic(), when each process writes down its stack

_RANK_PROCESS = "DDPLINT_RUN_RANK_PROCESS"  # the process that torchrun made a rank
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_folder: list[str] = []  # kept: the program may clear its environment
_stacks: list[TextIO] = []  # kept open: faulthandler writes to the descriptor
_rank: list[int] = []
_hooked: list[BaseException] = []  # what nothing caught and was noted
_armed: list[int] = []  # the process whose stack faulthandler is to write


def arm() -> None:
    """Guard this process. It never raises: a program must not fail because it is watched."""
    with contextlib.suppress(Exception):
        _folder[:] = [os.environ[FOLDER]]
        die_with_parent()
        sys.excepthook = _hook
        # The first to be registered is the last to run: what happens later is Python's and torch's own exit.
        atexit.register(_at_end, is_rank=_is_rank())
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
    path = Path(_folder[0], f"{kind}-{os.getpid()}.json")
    common = {"time": time.monotonic(), "pid": os.getpid(), "rank": rank_asked(), "argv": sys.orig_argv[1:]}
    with contextlib.suppress(OSError):
        path.write_text(json.dumps({**common, **content}), encoding="utf-8")


def note_crash(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None, *, spawned: bool = False
) -> None:
    """Note an error that ends this process, or that a ``spawned`` process hands to its parent."""
    if not issubclass(kind, KeyboardInterrupt):
        lines = traceback.format_exception(kind, error, trace)
        text, trace_text = said(error), "".join(lines)[-20_000:]
        note("crash", {"type": kind.__name__, "text": text, "trace": trace_text, "spawned": spawned})


def rank_asked() -> int | None:
    """The rank that torchrun gave this process or that it has taken itself; None where there is none."""
    if _rank:
        return _rank[0]
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else None


def _is_rank() -> bool:
    """Whether torchrun made this process a rank; the processes that a rank starts inherit its number."""
    own = str(os.getpid())
    return rank_asked() is not None and os.environ.setdefault(_RANK_PROCESS, own) == own


def be_rank(rank: int) -> None:
    """Note that this process is ``rank``."""
    _rank[:] = [rank]
    for stack in _stacks:
        _begin(stack)


def said(error: BaseException) -> str:
    """What ``error`` says, or at least that it fails to."""
    try:
        return str(error)[:2_000]
    except Exception:  # noqa: BLE001  # it is the program's code
        return "<exception str() failed>"  # as Python prints it


def unhooked() -> BaseException | None:
    """The error that nothing caught, where it went to an ``excepthook`` of the program's own; for use at exit."""
    error: BaseException | None = getattr(sys, "last_value", None)  # the interpreter leaves it there
    return None if any(error is hooked for hooked in _hooked) else error


def _at_end(*, is_rank: bool) -> None:
    error = unhooked()
    if error is not None:
        note_crash(type(error), error, error.__traceback__)
    if is_rank or _rank:
        note("end", {})


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _hooked.append(error)
    note_crash(kind, error, trace)
    sys.__excepthook__(kind, error, trace)


def arm_forked() -> None:
    """Guard this process, which was forked by a guarded one, so far as a fork loses it: let it write down its stack.

    By a thread: ``faulthandler``'s own alarm cannot be set again after a fork, it waits for the thread that was lost.
    """
    deadline = os.environ.get(DEADLINE)
    if deadline is None or _armed == [os.getpid()]:
        return
    _stacks.clear()
    stack = _open_stack()
    if stack is not None:
        wait = max(float(deadline) - time.monotonic(), 0.1)
        alarm = threading.Timer(wait, faulthandler.dump_traceback, [stack])
        alarm.daemon = True
        alarm.start()


def _arm_stack() -> None:
    deadline = os.environ.get(DEADLINE)
    if deadline is None:
        return
    _armed[:] = [os.getpid()]
    stack = _open_stack()
    if stack is not None:
        faulthandler.dump_traceback_later(max(float(deadline) - time.monotonic(), 0.1), file=stack)


def _open_stack() -> TextIO | None:
    with contextlib.suppress(OSError):  # its disk is full
        stack = Path(_folder[0], f"stack-{os.getpid()}.txt").open("w", encoding="utf-8")  # noqa: SIM115
        _stacks.append(stack)
        _begin(stack)
        return stack
    return None


def _begin(stack: TextIO) -> None:
    """Write the header that tells whose stack it is; of a process that ends in time it is all there is."""
    with contextlib.suppress(OSError):
        stack.seek(0)
        stack.truncate()
        stack.write(f"rank {rank_asked()}\n")
        stack.flush()
