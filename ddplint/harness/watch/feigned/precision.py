"""What computes otherwise on GPUs: mixed precision, generators, compiled code; and where files are loaded to."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ddplint.harness.watch.feigned import places

if TYPE_CHECKING:
    from ddplint.harness.watch.feigned.places import Place


def install() -> None:
    """Replace what would ask for a GPU."""
    _compute_in_full_precision()
    _scale_on_cpu()
    _draw_on_cpu()
    _run_uncompiled()
    _load_to_cpu()
    nn.SyncBatchNorm.forward = nn.modules.batchnorm._BatchNorm.forward  # type: ignore[method-assign]  # noqa: SLF001


def _compute_in_full_precision() -> None:
    real = torch.amp.autocast_mode.autocast.__init__

    @functools.wraps(real)
    def initialize(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        if str(device_type).startswith("cuda"):
            real(self, "cpu", torch.bfloat16, enabled=False)
        else:
            real(self, device_type, *args, **kwargs)

    torch.amp.autocast_mode.autocast.__init__ = initialize  # type: ignore[method-assign]


def _scale_on_cpu() -> None:
    real = torch.amp.GradScaler.__init__

    @functools.wraps(real)
    def initialize(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        real(self, "cpu" if str(device).startswith("cuda") else device, *args, **kwargs)

    torch.amp.GradScaler.__init__ = initialize  # type: ignore[method-assign]


def _draw_on_cpu() -> None:
    real = torch.Generator

    class Kind(type(real)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

    class Generator(real, metaclass=Kind):  # type: ignore[misc,valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            return real("cpu" if places.named(device) is not None else device)

    torch.Generator = Generator  # type: ignore[misc]


def _run_uncompiled() -> None:
    """Let ``torch.compile`` return what it returns, and run it as it is written.

    Compiling for the CPU would take minutes and tell nothing of a GPU.
    """
    real = torch.compile

    @functools.wraps(real)
    def compile_nothing(*args: Any, **kwargs: Any) -> Any:
        if hasattr(torch.compiler, "set_stance"):
            torch.compiler.set_stance("force_eager")
        else:
            import torch._dynamo.config as compiler  # torch before 2.6

            compiler.disable = True
        return real(*args, **kwargs)

    torch.compile = compile_nothing


def _load_to_cpu() -> None:
    real = torch.load

    @functools.wraps(real)
    def load(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        content = real(file, "cpu", *args, **kwargs)
        _put_all(content, _loaded_to(map_location))
        return content

    torch.load = load  # type: ignore[assignment]


def _loaded_to(map_location: Any) -> Place:
    """Where ``torch.load`` would have left what was on a GPU; a function's answer cannot be told."""
    if isinstance(map_location, dict):
        map_location = next(iter(map_location.values()), None)
    return places.named(map_location)


def _put_all(content: Any, place: Place) -> None:
    if place is None:
        return
    if isinstance(content, torch.Tensor):
        places.put(content, place)
    elif isinstance(content, nn.Module):
        for tensor in (*content.parameters(), *content.buffers()):
            places.put(tensor, place)
    elif isinstance(content, dict):
        for part in content.values():
            _put_all(part, place)
    elif isinstance(content, (list, tuple)):
        for part in content:
            _put_all(part, place)
