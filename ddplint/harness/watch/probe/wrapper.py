"""The wrapper: its making, its forwards, moves of its parameters, ``no_sync``."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import hashing, hooks, patching, sites, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_MOVES = (
    "to", "cuda", "cpu", "xpu", "ipu", "mtia", "type", "float", "double", "half", "bfloat16", "to_empty", "_apply",
)  # fmt: skip
_LOOKS = 4  # forwards before which the accumulators are looked at each time; then at every 16th

_numbers = writing.Numbers()
_wrapped: dict[int, _Wrapped] = {}  # by the wrapper's number
_inner: dict[int, int] = {}  # the wrapped module's identity: the wrapper's number
_called: set[type] = set()  # classes whose calls are patched
_torch: Any = None


class _Wrapped:
    """A wrapper's parameters and the accumulators that its reductions hang on.

    A node of the graph is the same object in Python as long as one refers to it, so identity tells.
    """

    def __init__(self, number: int, wrapper: Any) -> None:
        self.number = number
        self.wrapper = wrapper
        self.parameters = [parameter for parameter in wrapper.module.parameters() if parameter.requires_grad]
        self.accumulators = [_accumulator(parameter) for parameter in self.parameters]
        self.hooked = [True] * len(self.parameters)
        self.forwards = 0

    def lose(self) -> int:
        """How many parameters have lost their accumulator since this was last asked."""
        lost = 0
        for place, (parameter, accumulator) in enumerate(zip(self.parameters, self.accumulators, strict=True)):
            if self.hooked[place] and _accumulator(parameter) is not accumulator:
                self.hooked[place] = False
                lost += 1
        return lost

    def kinds(self) -> list[str]:
        """The devices and dtypes of the parameters."""
        return sorted({f"{_device(parameter)}/{_dtype(parameter)}" for parameter in self.parameters})


def observe(torch: ModuleType) -> None:
    """Patch the wrapper and what moves a module."""
    global _torch  # noqa: PLW0603
    _torch = torch
    wrapper = torch.nn.parallel.DistributedDataParallel
    around(wrapper, "__init__", _wrap)
    around(wrapper, "__setstate__", _restore)
    _observe_no_sync(wrapper)
    patching.attempt("hooks", hooks.observe, torch)
    for name in _MOVES:
        if hasattr(torch.nn.Module, name):
            around(torch.nn.Module, name, _move)
    around(wrapper, "forward", _forward)


def number_of(module: object) -> int | None:
    """The number of ``module`` where it is a wrapper, compiled or not; None for any other."""
    if isinstance(module, _torch.nn.Module):
        module = getattr(module, "_orig_mod", module)
    return _numbers.known(module)


def all_wrapped() -> list[_Wrapped]:
    """All wrappers made so far, in order."""
    return list(_wrapped.values())


def _wrap(original: Callable[..., None], wrapper: Any, *arguments: Any, **keywords: Any) -> None:
    original(wrapper, *arguments, **keywords)
    _wrapper_made(wrapper, arguments, keywords)


def _restore(original: Callable[..., None], wrapper: Any, *arguments: Any, **keywords: Any) -> None:
    original(wrapper, *arguments, **keywords)
    _wrapper_made(wrapper, (), {})


@quiet
def _wrapper_made(wrapper: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    number = _numbers.of(wrapper)
    wrapped = _wrapped[number] = _Wrapped(number, wrapper)
    # Never freed: as a wrapper is, torch joins gloo's thread and sometimes aborts the program.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(wrapper))
    device_ids = arguments[1] if len(arguments) > 1 else keywords.get("device_ids")
    writing.emit(
        "wrap",
        model=number,
        cls=f"{type(wrapper.module).__module__}.{type(wrapper.module).__qualname__}",
        parameters=len(wrapped.parameters),
        devices=sorted({_device(parameter) for parameter in wrapped.parameters}),
        dtypes=sorted({_dtype(parameter) for parameter in wrapped.parameters}),
        device_ids=None if device_ids is None else [str(device) for device in device_ids],
        members=sorted(_torch.distributed.get_process_group_ranks(wrapper.process_group)),
        sites=sites.here(wrapper),
    )
    hooks.count(wrapper, number)
    inner = getattr(wrapper.module, "_orig_mod", wrapper.module)
    _inner[id(inner)] = number
    if not isinstance(inner, _torch.jit.ScriptModule):
        _observe_calls(type(inner))


def _move(original: Callable[..., Any], module: Any, *arguments: Any, **keywords: Any) -> Any:
    before = _shared_with(module)
    if before is None:
        return original(module, *arguments, **keywords)
    with patching.inside("move"):
        result = original(module, *arguments, **keywords)
    _moved(before)
    return result


@quiet
def _shared_with(module: Any) -> list[tuple[_Wrapped, list[str]]] | None:
    """The wrappers that share parameters with ``module``; None where there is none or a move is under way."""
    if not _wrapped or patching.is_inside("move"):
        return None
    own = {id(parameter) for parameter in module.parameters()}
    shared = [wrapped for wrapped in _wrapped.values() if any(id(item) in own for item in wrapped.parameters)]
    for wrapped in shared:
        wrapped.lose()
    return [(wrapped, wrapped.kinds()) for wrapped in shared] or None


@quiet
def _moved(before: list[tuple[_Wrapped, list[str]]]) -> None:
    for wrapped, kinds in before:
        writing.emit(
            "move",
            model=wrapped.number,
            reset=wrapped.lose(),
            before=kinds,
            after=wrapped.kinds(),
            sites=sites.here(),
        )


def _forward(original: Callable[..., Any], wrapper: Any, *arguments: Any, **keywords: Any) -> Any:
    _forward_begun(wrapper, arguments, keywords)
    return original(wrapper, *arguments, **keywords)


@quiet
def _forward_begun(wrapper: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    wrapped = _wrapped[_numbers.of(wrapper)]
    _look_for_lost(wrapped)
    writing.emit(
        "forward",
        model=wrapped.number,
        sync=bool(wrapper.require_backward_grad_sync),
        grad=_torch.is_grad_enabled(),
        training=wrapper.training,
        broadcast=bool(wrapper.will_sync_module_buffers()),
        rows=hashing.first_rows((arguments, keywords)),
        sites=sites.here(wrapper),
    )


def _look_for_lost(wrapped: _Wrapped) -> None:
    """Accumulators are lost without a module's method too: ``parameter.data = ...``."""
    wrapped.forwards += 1
    if wrapped.forwards <= _LOOKS or wrapped.forwards % 16 == 0:
        lost = wrapped.lose()
        if lost:
            kinds = wrapped.kinds()
            writing.emit("move", model=wrapped.number, reset=lost, before=None, after=kinds, sites=[])


def _observe_calls(cls: Any) -> None:
    """Patch the calls of modules of the class ``cls``, of which a wrapper wraps one.

    A hook would be saved with the module, and a global one changes how ``torch.compile`` compiles.
    """
    if any(base in _called for base in cls.__mro__):
        return
    _called.add(cls)
    if "__call__" in vars(cls):
        around(cls, "__call__", _call)
        return

    def call(module: Any, *arguments: Any, **keywords: Any) -> Any:
        return super(cls, module).__call__(*arguments, **keywords)  # which others patch for a time: torch.fx does

    cls.__call__ = call
    around(cls, "__call__", _call)
    patching.leave(call)


def _call(original: Callable[..., Any], module: Any, *arguments: Any, **keywords: Any) -> Any:
    _called_outside(module)
    return original(module, *arguments, **keywords)


@quiet
def _called_outside(module: Any) -> None:
    number = _inner.get(id(module))
    if number is None or not _torch.is_grad_enabled():
        return
    if _torch.nn.parallel.DistributedDataParallel._get_active_ddp_module() is None:  # noqa: SLF001
        writing.emit("inner", model=number, sites=sites.here(module))


def _observe_no_sync(wrapper: Any) -> None:
    """Patch ``no_sync`` so that the place is known where it is taken, also as a bound method that is stored."""
    original = wrapper.no_sync

    @contextlib.contextmanager
    def entered(module: Any, taken: list[str] | None) -> Iterator[None]:
        with original(module):
            _no_sync_entered(module, taken)
            try:
                yield
            finally:
                _no_sync_left(module)

    class NoSync:
        """The method, which notes where it is taken."""

        def __get__(self, module: Any, owner: Any = None) -> Any:
            if module is None:
                return original
            return functools.wraps(original)(functools.partial(entered, module, _taken(module)))

    wrapper.no_sync = NoSync()


@quiet
def _taken(module: Any) -> list[str]:
    return sites.here(module, outside_managers=True)


@quiet
def _no_sync_entered(module: Any, taken: list[str] | None) -> None:
    writing.emit("no_sync", model=_numbers.of(module), taken=taken, sites=sites.here())


@quiet
def _no_sync_left(module: Any) -> None:
    writing.emit("no_sync_end", model=_numbers.of(module))


def _accumulator(parameter: Any) -> Any:
    with _torch.inference_mode(mode=False), _torch.enable_grad():
        node = parameter.view_as(parameter).grad_fn
    return node.next_functions[0][0]


def _device(parameter: Any) -> str:
    feigned: Any = sys.modules.get("ddplint.harness.watch.feigned.places")
    return str(parameter.device if feigned is None else feigned.device(feigned.of(parameter)))


def _dtype(parameter: Any) -> str:
    return str(parameter.dtype).removeprefix("torch.")
