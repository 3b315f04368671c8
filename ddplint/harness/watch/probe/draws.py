"""Orders that the program draws at random: permutations, shuffles and splits."""

from __future__ import annotations

import hashlib
import random
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import sites, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_PER_PLACE = 4
_LARGEST = 10_000_000  # of a longer order no hash is taken

_seen: Counter[str] = Counter()  # by place


def observe(torch: ModuleType) -> None:
    """Patch what draws an order."""
    around(torch, "randperm", _randperm)
    data: Any = torch.utils.data
    for module in (data, data.dataset):
        around(module, "random_split", _split)
    # A module's functions are methods of a generator, bound before its class is patched.
    for owner in (random, random.Random):
        for name in ("shuffle", "sample"):
            around(owner, name, _shuffling(f"random.{name}", bound=owner is random.Random))
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        for name in ("shuffle", "permutation"):
            around(numpy.random, name, _numpy_shuffling(f"numpy.random.{name}", numpy.random))


def _randperm(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    result = original(*arguments, **keywords)
    _tensor_drawn("torch.randperm", result)
    return result


def _split(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    result = original(*arguments, **keywords)
    _parts_drawn(result)
    return result


@quiet
def _tensor_drawn(op: str, order: Any) -> None:
    if sites.is_next() and order.numel() <= _LARGEST:
        _drawn(op, order.numel(), str(order.tolist()))


@quiet
def _parts_drawn(parts: Any) -> None:
    size = sum(map(len, parts))
    if sites.is_next() and size <= _LARGEST:
        _drawn("random_split", size, str([list(part.indices) for part in parts]))


def _shuffling(op: str, *, bound: bool) -> Callable[..., Any]:
    def shuffle(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        _shuffled(op, arguments, bound=bound)
        return original(*arguments, **keywords)

    return shuffle


@quiet
def _shuffled(op: str, arguments: tuple[Any, ...], *, bound: bool) -> None:
    generator, items = arguments[:2] if bound else (random, arguments[0])
    if sites.is_next() and not isinstance(generator, random.SystemRandom):  # which has no state
        _drawn(op, _size(items), str(generator.getstate()))


def _numpy_shuffling(op: str, module: Any) -> Callable[..., Any]:
    def shuffle(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        _numpy_shuffled(op, module, arguments)
        return original(*arguments, **keywords)

    return shuffle


@quiet
def _numpy_shuffled(op: str, module: Any, arguments: tuple[Any, ...]) -> None:
    if sites.is_next():
        name, keys, *rest = module.get_state()
        _drawn(op, _size(arguments[0]), f"{name} {keys.tolist()} {rest}")


def _size(items: Any) -> int | None:
    return items if isinstance(items, int) else len(items) if hasattr(items, "__len__") else None


def _drawn(op: str, size: int | None, order: str) -> None:
    where = sites.here()
    place = " ".join(where)
    _seen[place] += 1
    if _seen[place] <= _PER_PLACE:
        drawn = hashlib.blake2b(order.encode(), digest_size=8).hexdigest()
        writing.emit("draw", op=op, size=size, drawn=drawn, drawer=writing.worker(), sites=where)
