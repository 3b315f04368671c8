"""Backwards and optimizer steps."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import graphs, hashing, patching, sites, wrapper, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

_optimizers = writing.Numbers()
_steps: dict[int, int] = {}  # by the optimizer's number
_started: dict[int, dict[str, str]] = {}  # by the optimizer's number, the digests before its step, by the wrapper's
_local = threading.local()
_torch: Any = None


def observe(torch: ModuleType) -> None:
    """Patch the backward and hook into optimizers."""
    global _torch  # noqa: PLW0603
    _torch = torch
    around(torch.autograd, "backward", _backward)  # Tensor.backward calls it
    optimizer: Any = importlib.import_module("torch.optim.optimizer")
    for function in (_before_step, _after_step):
        patching.leave(function)
    optimizer.register_optimizer_step_pre_hook(_before_step)
    optimizer.register_optimizer_step_post_hook(_after_step)


def _backward(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    before = _backward_begun(arguments[0] if arguments else keywords.get("tensors"))
    result = original(*arguments, **keywords)
    _backward_ended(before)
    return result


_Gradients = dict[int, list[tuple[int, int] | None]]
"""By the wrapper's number, for each parameter, its gradient and how often that was changed."""


@quiet
def _backward_begun(losses: Any) -> _Gradients:
    dist = _torch.distributed
    world = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    fresh = [wrapped.number for wrapped in wrapper.all_wrapped() if not any(map(_is_held, wrapped.parameters))]
    writing.emit("backward_begun", fresh=fresh, scaled=graphs.scaled(losses, world), sites=sites.here())
    graphs.forget()
    return _gradients()


@quiet
def _backward_ended(before: _Gradients | None) -> None:
    held = [wrapped.number for wrapped in wrapper.all_wrapped() if not wrapped.wrapper.require_backward_grad_sync]
    current = _frames(sys._getframe(1))  # noqa: SLF001
    after = _gradients()
    writing.emit(
        "backward",
        held=held,
        reached=None if before is None else [number for number, its in after.items() if its != before.get(number)],
        stepping=any(its in current for _, its in _running()),
        sites=sites.here(),
    )


def _is_held(parameter: Any) -> bool:
    """Whether a parameter has a gradient that is not zero."""
    gradient = parameter.grad
    if gradient is None:
        return False
    return bool(gradient._nnz() if gradient.is_sparse else gradient.detach().any())  # noqa: SLF001


def _gradients() -> _Gradients:
    return {
        wrapped.number: [
            None if parameter.grad is None else (id(parameter.grad), parameter.grad._version)  # noqa: SLF001
            for parameter in wrapped.parameters
        ]
        for wrapped in wrapper.all_wrapped()
    }


def _before_step(optimizer: Any, _arguments: object, _keywords: object) -> None:
    if not _torch.compiler.is_compiling():
        _step_begun(optimizer)


def _after_step(optimizer: Any, _arguments: object, _keywords: object) -> None:
    if not _torch.compiler.is_compiling():
        _step_ended(optimizer)


@quiet
def _step_begun(optimizer: Any) -> None:
    """Some optimizers step with others inside (``ZeroRedundancyOptimizer``); only the outermost counts."""
    if not _running():
        _note_start(optimizer)
    frame = _stepping_frame(optimizer)
    current = _frames(frame)
    _running()[:] = [(other, its) for other, its in _running() if its in current and its is not frame]
    _running().append((optimizer, frame))


@quiet
def _step_ended(optimizer: Any) -> None:
    running = _running()
    while running and running.pop()[0] is not optimizer:
        pass
    if not running:
        _stepped(optimizer)


def _running() -> list[tuple[Any, FrameType]]:
    """The optimizers that are stepping in this thread, outermost first, each with a frame that lasts as long."""
    running: list[tuple[Any, FrameType]] = _local.__dict__.setdefault("running", [])
    return running


def _stepping_frame(optimizer: Any) -> FrameType:
    """The frame of torch's that calls the hooks round ``optimizer.step``."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and frame.f_code.co_filename.startswith(sites.HERE):
        frame = frame.f_back
    assert frame is not None, optimizer
    return frame


def _frames(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _note_start(optimizer: Any) -> None:
    """Take the digests of the parameters that a step begins with, as often as those that it ends with."""
    number = _optimizers.of(optimizer)
    due = _held_by(optimizer) if _is_due(_steps.get(number, -1) + 1) else []
    _started[number] = {str(wrapped.number): hashing.digest(wrapped.parameters) for wrapped in due}


def _held_by(optimizer: Any) -> list[Any]:
    """The wrappers of which an optimizer holds parameters."""
    own = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    return [wrapped for wrapped in wrapper.all_wrapped() if any(id(item) in own for item in wrapped.parameters)]


def _stepped(optimizer: Any) -> None:
    number = _optimizers.of(optimizer)
    count = _steps[number] = _steps.get(number, -1) + 1
    models = _held_by(optimizer)
    due = models if _is_due(count) else []
    digests = {str(wrapped.number): hashing.digest(wrapped.parameters) for wrapped in due}
    gradients = {str(wrapped.number): hashing.digest_of_gradients(wrapped.parameters) for wrapped in due}
    writing.emit(
        "step",
        optimizer=number,
        models=[wrapped.number for wrapped in models],
        start=_started.pop(number, None) or None,
        digest=digests or None,
        gradients=gradients or None,
        sites=sites.here(),
    )


def _is_due(count: int) -> bool:
    """Whether a digest is taken after step ``count``: of the first ones, then now and then; the same on all ranks."""
    return count < 32 or count % 16 == 0
