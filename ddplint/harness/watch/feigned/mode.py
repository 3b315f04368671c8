"""What happens to tensors: every call of a torch function passes here while the mode is on, in each thread."""

from __future__ import annotations

import functools
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
import torch.utils._device as contexts
from torch.overrides import TorchFunctionMode

from ddplint.harness.watch.feigned import places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from ddplint.harness.watch.feigned.places import Place

    Function = Callable[..., Any]
    Arguments = tuple[Any, ...]
    Keywords = Mapping[str, Any]


class FeignedDevices(TorchFunctionMode):
    """Puts each tensor on the CPU and notes the place it would have."""

    def __torch_function__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        """Run ``func`` with its devices replaced; the result is where the device, or else an argument, is."""
        special = _SPECIAL.get(func)
        if special is not None:
            return special(func, args, kwargs or {})
        if func in _TOLD:
            place = None if places.asked_by("torch", depth=1) else places.of(args[0])
            return func(*args, **kwargs or {}) if place is None else _TOLD[func](place)
        return _run(func, args, kwargs or {})


def install() -> None:
    """Turn the mode on in this thread and in those that it and they will start."""
    FeignedDevices().__enter__()  # type: ignore[no-untyped-call]
    _follow_threads()
    _follow_backward()
    _see_to_contexts()
    _tell_default_device()
    _keep_places_of_parameters()


def _run(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    asked = kwargs.get("device")
    if asked is None and contexts.CURRENT_DEVICE is not None and func in contexts._device_constructors():  # noqa: SLF001
        asked = contexts.CURRENT_DEVICE
    if asked is None:
        asked = next((arg for arg in args if isinstance(arg, torch.device)), None)
    place = places.first((*args, *kwargs.values())) if asked is None else places.named(asked)
    if asked is not None and place is not None:
        if any(isinstance(arg, torch.device) for arg in args):
            args = tuple("cpu" if isinstance(arg, torch.device) else arg for arg in args)
        else:
            kwargs = {**kwargs, "device": "cpu"}
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    return _placed(func(*args, **kwargs), place, args)


def _placed(result: Any, place: Place, args: Arguments) -> Any:
    """``result``, noted as being at ``place``; an argument that was changed and returned stays where it is."""
    if place is None:
        return result
    if isinstance(result, torch.Tensor):
        if not any(result is arg for arg in args):
            places.put(result, place)
    elif isinstance(result, (tuple, list)):
        for part in result:
            _placed(part, place, args)
    return result


def _moved(func: Function, tensor: torch.Tensor, place: Place, args: Arguments, kwargs: Keywords) -> Any:
    """The result of ``func`` on ``tensor`` as of a move to ``place``: a new tensor, unless it is there already."""
    result = func(tensor, *args, **kwargs)
    if result is tensor:
        if places.of(tensor) == place:
            return tensor
        result = tensor.clone()
    places.put(result, place)
    return result


def _to(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    tensor, *rest = args
    given = {**kwargs}
    target = rest[0] if rest else given.get("device", given.get("other"))
    if isinstance(target, torch.Tensor):
        return _moved(func, tensor, places.of(target), (*rest,), given)
    if not isinstance(target, (torch.device, str, int)):
        return _moved(func, tensor, places.of(tensor), (*rest,), given)
    place = places.named(target)
    if place is not None:
        if rest:
            rest[0] = "cpu"
        else:
            given["device"] = "cpu"
    return _moved(func, tensor, place, (*rest,), given)


def _cuda(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    asked = args[1] if len(args) > 1 else kwargs.get("device")
    place = places.current.number if asked is None else places.named(asked)
    if place is None:
        raise ValueError(f"Invalid device, must be cuda device: {asked}")
    return _moved(torch.Tensor.cpu, args[0], place, (), {})


def _cpu(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    return _moved(func, args[0], None, args[1:], kwargs)


def _set_data(func: Function, args: Arguments, kwargs: Keywords) -> None:
    """Replace a tensor's data. Where that is a move, the tensor gets a new gradient accumulator, as on a GPU.

    torch makes a new one when the device or the type of the data changes; here only the type can.
    """
    tensor, value = args
    place = places.of(value)
    if place != places.of(tensor) and (tensor.is_floating_point() or tensor.is_complex()):
        other = torch.float32 if tensor.dtype == torch.float64 else torch.float64
        func(tensor, torch.empty(0, dtype=other))
    func(tensor, value)
    places.put(tensor, place)


def _type(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    tensor, *rest = args
    if rest and isinstance(rest[0], str) and rest[0].startswith("torch.cuda."):
        result = func(tensor, rest[0].replace("torch.cuda.", "torch."))
        return _moved(torch.Tensor.cpu, result, places.current.number, (), {})
    return _run(func, args, kwargs)


def _make_device(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    """A ``torch.device``; torch refuses a bare number where there is no GPU."""
    if len(args) == 1 and isinstance(args[0], int):
        args = ("cuda", *args)
    return func(*args, **kwargs)


def _parse_to(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    """What ``Module.to`` makes of its arguments: device, dtype and others."""
    target = args[0] if args else kwargs.get("device", kwargs.get("tensor"))
    if isinstance(target, torch.Tensor):
        return (places.device(places.of(target)), *func(*args, **kwargs)[1:])
    if isinstance(target, int):
        named = places.device(target)
        return func(named, *args[1:], **kwargs) if args else func(**{**kwargs, "device": named})
    return func(*args, **kwargs)


def _pin(func: Function, args: Arguments, kwargs: Keywords) -> Any:
    return args[0]


_SPECIAL: dict[Function, Callable[[Function, Arguments, Keywords], Any]] = {
    torch.device: _make_device,
    torch._C._nn._parse_to: _parse_to,  # noqa: SLF001
    torch.Tensor.to: _to,
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.type: _type,
    torch.Tensor.data.__set__: _set_data,  # type: ignore[attr-defined]
    torch.Tensor.pin_memory: _pin,
}
# What a program is told of a tensor that would be on a GPU.
_TOLD: dict[Function, Callable[[int], object]] = {
    torch.Tensor.device.__get__: places.device,
    torch.Tensor.is_cuda.__get__: lambda _place: True,  # type: ignore[attr-defined]
    torch.Tensor.is_cpu.__get__: lambda _place: False,  # type: ignore[attr-defined]
    torch.Tensor.get_device: lambda place: place,
}


def _is_on() -> bool:
    modes = torch.overrides._get_current_function_mode_stack()  # type: ignore[no-untyped-call]  # noqa: SLF001
    return any(isinstance(mode, FeignedDevices) for mode in modes)


def _on() -> AbstractContextManager[object]:
    """The mode, where it is off: torch turns it off while it runs a function that came through it."""
    return nullcontext() if _is_on() else FeignedDevices()


def _follow_threads() -> None:
    start = threading.Thread.start

    @functools.wraps(start)
    def start_with_mode(self: threading.Thread) -> None:
        run = self.run

        def run_with_mode() -> None:
            with _on():
                run()

        self.run = run_with_mode  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_with_mode  # type: ignore[method-assign]


def _follow_backward() -> None:
    """Keep the mode on in a backward, which runs the program's hooks, functions and recomputed forwards."""
    engine = torch.autograd.graph._engine_run_backward  # noqa: SLF001

    @functools.wraps(engine)
    def run_with_mode(*args: Any, **kwargs: Any) -> Any:
        with _on():
            return engine(*args, **kwargs)

    torch.autograd.graph._engine_run_backward = run_with_mode  # noqa: SLF001
    places.replace(torch.autograd, "_engine_run_backward", run_with_mode)


def _see_to_contexts() -> None:
    """Let ``with torch.device("cuda")`` name a device only where the mode comes next and takes it out again."""
    add_device = contexts.DeviceContext.__torch_function__

    @functools.wraps(add_device)
    def add_device_if_on(
        self: Any, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        if self.device.type == "cuda" and not _is_on():
            return func(*args, **kwargs or {})
        return add_device(self, func, types, args, kwargs)  # type: ignore[no-untyped-call]

    contexts.DeviceContext.__torch_function__ = add_device_if_on  # type: ignore[method-assign]


def _tell_default_device() -> None:
    real = torch.get_default_device

    def told() -> torch.device:
        place = places.of(torch.empty(0))
        return real() if place is None else places.device(place)

    torch.get_default_device = places.for_program(told, real)


def _keep_places_of_parameters() -> None:
    make = torch.nn.Parameter.__new__

    @functools.wraps(make)
    def make_in_place(cls: type, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        parameter: Any = make(cls, data, *args, **kwargs)
        if isinstance(data, torch.Tensor):
            places.put(parameter, places.of(data))
        return parameter

    torch.nn.Parameter.__new__ = make_in_place  # type: ignore[method-assign]
