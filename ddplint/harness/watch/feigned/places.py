"""The place of each tensor: the number of the GPU it would be on, or None where it would be on the CPU."""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ddplint.harness import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

Place: TypeAlias = "int | None"

_BETWEEN = ("torch.utils._device", "ddplint.harness.watch.feigned.mode")  # stand between the one who asks and the mode
_places = WeakTensorKeyDictionary()


class _Current(threading.local):
    number = 0


current = _Current()  # ``number``: this thread's current GPU


def count() -> int:
    """The GPUs of this machine: one a rank."""
    for name in (guard.NPROC, "LOCAL_WORLD_SIZE"):
        number = os.environ.get(name, "")
        if number.isdecimal() and int(number) > 0:
            return int(number)
    return 1


def of(tensor: torch.Tensor) -> Place:
    """The place of ``tensor``."""
    place: Place = _places.get(tensor)  # type: ignore[no-untyped-call]
    return place


def put(tensor: torch.Tensor, place: Place) -> None:
    """Note that ``tensor`` is at ``place``."""
    if place is not None:
        _places[tensor] = place
    elif tensor in _places:
        del _places[tensor]


def named(device: object) -> Place:
    """The place that ``device`` (a number, a name, a ``torch.device``) names; None for the CPU and what is no GPU."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if isinstance(device, str) and device.startswith("cuda"):
        device = torch.device(device)
    if isinstance(device, torch.device) and device.type == "cuda":
        return current.number if device.index is None else device.index  # type: ignore[redundant-expr]
    return None


def device(place: Place) -> torch.device:
    """The device that a program is told for ``place``."""
    return torch.device("cpu") if place is None else torch.device("cuda", place)


def first(values: Iterable[object]) -> Place:
    """The first GPU among the tensors in ``values`` and in the lists in it."""
    for value in values:
        if isinstance(value, torch.Tensor):
            place = of(value)
        elif isinstance(value, (tuple, list)) and value and isinstance(value[0], (torch.Tensor, tuple, list)):
            place = first(value)
        else:
            continue
        if place is not None:
            return place
    return None


def asked_by(*packages: str, depth: int) -> bool:
    """Whether the code ``depth`` calls above the caller is of one of ``packages``."""
    frame: FrameType | None = sys._getframe(depth + 1)  # noqa: SLF001  # there is no public way
    while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    name = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def for_program(feigned: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """A function that answers as ``feigned`` to the program, and as ``real`` to torch and to this package."""

    @functools.wraps(real)
    def answer(*args: Any, **kwargs: Any) -> Any:
        return (real if asked_by("torch", "ddplint", depth=1) else feigned)(*args, **kwargs)

    return answer


def replace(owner: Any, name: str, value: object) -> None:
    """Set ``owner``'s attribute ``name`` where this torch has it."""
    if hasattr(owner, name):
        setattr(owner, name, value)
