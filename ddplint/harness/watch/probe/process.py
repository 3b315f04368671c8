"""Process groups, crashes, and the end of the process."""

from __future__ import annotations

import atexit
import importlib
import multiprocessing.process
import sys
import traceback
from typing import TYPE_CHECKING, Any

from ddplint.harness import guard
from ddplint.harness.watch.probe import meeting, sites, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType, TracebackType

_torch: Any = None


def observe(torch: ModuleType) -> None:
    """Patch the start of a process group and what ends a process."""
    global _torch  # noqa: PLW0603
    _torch = torch
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        around(module, "init_process_group", _init)
    around(importlib.import_module("torch.multiprocessing.spawn"), "_wrap", _be_spawned)
    around(multiprocessing.process.BaseProcess, "run", _be_process)
    _observe_crashes()
    atexit.register(_exit)


def _init(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    given = list(arguments)
    with meeting.at_own_port(given, keywords):
        result = original(*given, **keywords)
    _group_begun(arguments[0] if arguments else keywords.get("backend"))
    return result


@quiet
def _group_begun(asked: object) -> None:
    dist = _torch.distributed
    guard.be_rank(dist.get_rank())
    writing.be_rank(dist.get_rank())
    writing.emit(
        "init",
        asked=None if asked is None else str(asked),
        backend=dist.get_backend(),
        world=dist.get_world_size(),
        sites=sites.here(),
    )


def _be_spawned(original: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """Run as ``mp.spawn``'s child, which hands its error to the parent and to no ``excepthook``."""

    def run(*its: Any) -> Any:
        try:
            return function(*its)
        except Exception as error:
            _lost(error)
            raise

    return original(run, *arguments)


def _be_process(original: Callable[..., None], process: Any) -> None:
    """Run as a child of ``multiprocessing``, which prints its error itself."""
    if not process.daemon:  # as a loader's worker is
        guard.arm_forked()
    try:
        original(process)
    except Exception as error:
        _lost(error)
        raise
    if not process.daemon:
        writing.emit("exit")  # one that was forked leaves without what is to be done at exit


def _lost(error: Exception) -> None:
    _crashed(type(error), error, error.__traceback__)
    guard.note_crash(type(error), error, error.__traceback__, spawned=True)


def _observe_crashes() -> None:
    hook = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        _crashed(kind, error, trace)
        hook(kind, error, trace)

    sys.excepthook = note


def _exit() -> None:
    error = guard.unhooked()
    if error is not None:
        _crashed(type(error), error, error.__traceback__)
    writing.emit("exit")


@quiet
def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    lines = traceback.format_exception(kind, error, trace)
    writing.emit(
        "crash",
        type=kind.__name__,
        text=guard.said(error),
        trace="".join(lines)[-20_000:],
        sites=sites.of_traceback(trace),
    )
