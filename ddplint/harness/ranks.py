"""Runs a function on forked ranks that are joined in a gloo process group.

A fork takes milliseconds where a fresh interpreter spends seconds importing torch. It is safe as long as the parent
never computes with tensors: then no thread of torch's exists that a fork could lose.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ddplint.harness import guard

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
_ECHO = ("Connection closed", "Connection reset", "Broken pipe")


class RankError(Exception):
    """A rank failed; the text is its error's first line, ``trace`` the whole traceback."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text)
        self.trace = trace


def preload() -> None:
    """Import, before any fork, what each rank would otherwise import for itself."""
    import torch.distributed
    import torch.nn.parallel

    with contextlib.suppress(ImportError):
        import torch._dynamo.utils  # noqa: F401  # the wrapper's constructor imports it, for seconds


def run(
    function: Callable[[int, int], Result], nproc: int, folder: Path, timeout: float = 60.0, *, join: bool = True
) -> list[Result]:
    """The results of ``function(rank, nproc)`` on ``nproc`` ranks, by rank.

    Results travel pickled, through ``folder``, which is made. ``timeout`` is in seconds and holds for the whole.
    Without ``join`` the ranks are in no group yet. Raises ``RankError`` with the first error that is not the echo of
    another rank's, or when the time is out. No rank outlives the call.
    """
    preload()
    folder.mkdir()
    # What is still in a buffer would be written once by each rank.
    sys.stdout.flush()
    sys.stderr.flush()
    running: dict[int, int] = {}
    try:
        for rank in range(nproc):
            pid = os.fork()
            if pid == 0:
                _be_rank(function, rank, nproc, timeout if join else None, folder)
            running[pid] = rank
        _wait(running, time.monotonic() + timeout, folder)
    finally:
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return [pickle.loads(Path(folder, f"result-{rank}").read_bytes()) for rank in range(nproc)]  # noqa: S301


def _be_rank(
    function: Callable[[int, int], Result], rank: int, nproc: int, timeout: float | None, folder: Path
) -> None:
    """Run as rank, in a group if that has a ``timeout``, and leave.

    The exit skips Python's, where a gloo group may abort after all work is done.
    """
    status = 1
    try:
        guard.die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        if timeout is not None:
            limit = timedelta(seconds=timeout)
            meeting = f"file://{folder}/meeting"
            dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=nproc, timeout=limit)
        content = pickle.dumps(function(rank, nproc))
        path = Path(folder, f"writing-{rank}")
        path.write_bytes(content)
        path.rename(Path(folder, f"result-{rank}"))
        status = 0
    except BaseException as error:  # noqa: BLE001  # whatever it is, it must not run on in the parent's code
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        with contextlib.suppress(OSError):
            Path(folder, f"error-{rank}").write_text(f"{text}\n{traceback.format_exc()}", encoding="utf-8")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(running: dict[int, int], deadline: float, folder: Path) -> None:
    """Wait until all ranks have ended well; ``running`` keeps those that have not ended."""
    while running:
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            rank = running.pop(pid)
            if status:
                time.sleep(0.2)  # the rank that failed first may still be writing why
                raise _error(rank, status, folder)
        if time.monotonic() > deadline:
            waiting = ", ".join(map(str, sorted(running.values())))
            raise RankError(f"rank {waiting} did not end in time")
        time.sleep(0.005)


def _error(rank: int, status: int, folder: Path) -> RankError:
    found = []
    for path in sorted(folder.glob("error-*")):
        text, _, trace = path.read_text(encoding="utf-8").partition("\n")
        echo = any(words in trace for words in _ECHO)
        text = text or f"an error that could not be written to {folder.parent}"  # a full disk
        found.append((echo, f"rank {path.name.partition('-')[2]}: {text}", trace))
    if found:
        _, text, trace = min(found)
        return RankError(text, trace)
    if os.WIFSIGNALED(status):
        return RankError(f"rank {rank} was ended by {signal.Signals(os.WTERMSIG(status)).name}")
    return RankError(f"rank {rank} ended with exit status {os.WEXITSTATUS(status)}")
