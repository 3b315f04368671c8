"""The communication hook that counts reductions.

A wrapper takes one hook, so this one stands in front of the program's, if that registers one, and otherwise averages
as the wrapper does without a hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import patching, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_counters: dict[int, _Counter] = {}  # by the wrapper's identity; wrappers are never freed
_torch: Any = None


class _Counter:
    """Counts the reductions of a wrapper."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper
        self.number: int | None = None  # while the wrapper is being made
        self.hook: Callable[[Any, Any], Any] | None = None  # the program's
        self.state: object = None

    def stand_before(self, hook: Callable[[Any, Any], Any], state: object) -> None:
        """Let the program's ``hook`` reduce, which gets its ``state``."""
        self.hook, self.state = hook, state

    def reduce(self, _state: object, bucket: Any) -> Any:
        """Reduce ``bucket`` and count it where it is the last one of its backward."""
        future = _average(self.wrapper, bucket) if self.hook is None else self.hook(self.state, bucket)
        if bucket.is_last():
            _reduced(self.number)
        return future


@quiet
def _reduced(number: int | None) -> None:
    writing.emit("sync", model=number)


def observe(torch: ModuleType) -> None:
    """Patch the registration of hooks."""
    global _torch  # noqa: PLW0603
    _torch = torch
    wrapper = torch.nn.parallel.DistributedDataParallel
    patching.leave(_Counter.reduce)
    around(wrapper, "register_comm_hook", _register)
    around(wrapper, "_register_builtin_comm_hook", _register_builtin)


def count(wrapper: Any, number: int) -> None:
    """Count the reductions of ``wrapper``, whose number is ``number``."""
    _counter_of(wrapper).number = number


def _counter_of(wrapper: Any) -> _Counter:
    counter = _counters.get(id(wrapper))
    if counter is None:
        counter = _Counter(wrapper)
        _torch.distributed._register_comm_hook(wrapper.reducer, None, counter.reduce)  # noqa: SLF001
        _counters[id(wrapper)] = counter
    return counter


@patching.uncompiled
def _average(wrapper: Any, bucket: Any) -> Any:
    """Average ``bucket``'s gradients over the ranks, to the last bit as the wrapper does by itself.

    It waits for the result: with a callback, one of gloo's threads would run Python, and might when Python ends.
    """
    buffer = bucket.buffer()
    group = wrapper.process_group
    buffer.mul_(1.0 / group.size())
    work = group.allreduce([buffer])
    if buffer.is_sparse:  # the result is another tensor
        return work.get_future().then(lambda future: future.value()[0])
    work.wait()
    future = _torch.futures.Future()
    future.set_result(buffer)
    return future


def _register(original: Callable[..., None], wrapper: Any, state: object, hook: Callable[..., Any]) -> None:
    counter = _free_counter(wrapper)
    if counter is None:
        original(wrapper, state, hook)  # which says what is wrong
        return
    wrapper._check_comm_hook(hook)  # noqa: SLF001
    wrapper._comm_hooks.append((hook, state))  # noqa: SLF001
    counter.stand_before(hook, state)


def _register_builtin(original: Callable[..., None], wrapper: Any, comm_hook_type: Any) -> None:
    counter = _free_counter(wrapper)
    if counter is None:
        original(wrapper, comm_hook_type)
        return
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    half = comm_hook_type == _torch.distributed.BuiltinCommHookType.FP16_COMPRESS
    hook = default_hooks.fp16_compress_hook if half else default_hooks.allreduce_hook
    counter.stand_before(hook, wrapper.process_group)


@quiet
def _free_counter(wrapper: Any) -> _Counter | None:
    """The counter of ``wrapper`` unless it stands in front of a hook already."""
    counter = _counter_of(wrapper)
    return counter if counter.hook is None else None
