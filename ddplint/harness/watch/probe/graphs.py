"""Whether a backward goes through a tensor that a collective has written into, which autograd does not know of."""

from __future__ import annotations

from collections import deque
from typing import Any

_NODES = 2_000  # of a graph that are looked at
_LOSSES = 64  # tensors that are remembered until the next backward
_SHAPING = {"ExpBackward0", "LogBackward0", "PowBackward0", "SqrtBackward0", "RsqrtBackward0", "SigmoidBackward0"}

_written: deque[tuple[int, Any]] = deque(maxlen=_LOSSES)  # a collective's number, and the node of what it wrote into


def note(number: int, tensor: Any) -> bool:
    """Remember that collective ``number`` wrote into ``tensor``; whether that is part of a graph."""
    node = getattr(tensor, "grad_fn", None)
    if node is None:
        return False
    _written.append((number, node))
    return True


def forget() -> None:
    """A backward is over: its graph is gone."""
    _written.clear()


def scaled(losses: Any, world: int) -> list[tuple[int, str]]:
    """The collectives into whose results the backward of ``losses`` goes by another way than a sum, and that way.

    That is a division by the ``world`` size or a function that is not linear: the gradient of what this rank put in is
    then not the one of the local loss. Sums, and factors that may serve another end, leave it as it is.
    """
    if not _written:
        return []
    goals = {id(node): number for number, node in _written}
    roots = [loss.grad_fn for loss in (losses if isinstance(losses, (list, tuple)) else [losses])]
    left: deque[tuple[Any, str]] = deque((root, "") for root in roots if root is not None)
    seen: set[int] = set()
    kept: list[Any] = []  # so that no other node gets the identity of one that was seen
    found: list[tuple[int, str]] = []
    while left and len(kept) < _NODES:
        node, way = left.popleft()
        if id(node) in seen:
            continue
        seen.add(id(node))
        kept.append(node)
        if id(node) in goals:
            if way:
                found.append((goals[id(node)], way))
            continue  # what is below was made before
        way = way or _way(node, world)
        left.extend((below, way) for below, _ in node.next_functions if below is not None)
    return found


def _way(node: Any, world: int) -> str:
    """What ``node`` does to a sum over the ranks that is no sum; empty where that is nothing or not known."""
    name = str(node.name())
    if name in _SHAPING:
        return name.removesuffix("Backward0").lower()
    if name == "DivBackward0" and world > 1 and _number(node, "_saved_other") == world:
        return "divided by the world size"
    return ""


def _number(node: Any, name: str) -> float | None:
    other = getattr(node, name, None)
    return float(other) if other is not None and other.numel() == 1 else None
