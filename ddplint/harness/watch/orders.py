"""What several ranks read in one pass, held against each other."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddplint.harness.watch.passes import Row

FEW = 0.1  # of a pass: less may be a custom sampler's own padding
ALIKE = 0.9  # of the positions: what is left may be a rank's extra draws from its generator
VARIED = 4  # so many different rows tell one data set from another

Orders = dict[int, list["Row"]]
"""What each rank read, in order."""


def numbers(orders: Orders) -> dict[str, object]:
    """The evidence: how many samples each rank read, and how many were read by more than one."""
    return {
        "samples": {str(rank): len(set(order)) for rank, order in sorted(orders.items())},
        "shared": shared(orders),
    }


def shared(orders: Orders) -> int:
    """How many rows more than one rank read."""
    counts = Counter(chain.from_iterable(set(order) for order in orders.values()))
    return sum(count > 1 for count in counts.values())


def overlap(orders: Orders) -> bool:
    """Whether more is shared than what fills up the last, uneven share."""
    least = min(len(set(order)) for order in orders.values())
    return shared(orders) >= len(orders) and shared(orders) > FEW * least


def variety(orders: Orders) -> int:
    """How many different rows there are."""
    return len(set(chain.from_iterable(orders.values())))


def tell_little(rows: Orders) -> bool:
    """Whether there are so few different rows that ranks with samples of their own would share some."""
    return shared(rows) > 0 and variety(rows) < VARIED


def are_ambiguous(rows: Orders, indices: Orders | None) -> bool:
    """Whether equal rows may be different samples; ``indices`` of the same samples, where they are known."""
    if tell_little(rows):
        return True
    if indices is not None:
        # Equal rows are to be expected where equal indices were drawn.
        return any(len(set(rows[rank])) < ALIKE * len(set(indices[rank])) for rank in rows)
    return repeat(rows, of_all=False) and not are_alike(rows)


def agree(rows: Orders, indices: Orders) -> bool:
    """Whether equal indices gave equal rows on all ranks."""
    known: dict[Row, Row] = {}
    return all(
        known.setdefault(index, row) == row
        for rank, order in rows.items()
        for index, row in zip(indices[rank], order, strict=False)
    )


def are_alike(rows: Orders) -> bool:
    """Whether the ranks read the same rows in the same order."""
    first, *others = rows.values()
    least = min(map(len, rows.values()))
    return all(
        sum(left == right for left, right in zip(first, other, strict=False)) >= ALIKE * least for other in others
    )


def repeat(orders: Orders, *, of_all: bool = True) -> bool:
    """Whether samples come more than once in one pass, of all ranks or of any: by replacement, or without end."""
    return (all if of_all else any)(len(set(order)) < ALIKE * len(order) for order in orders.values())


def consists_of(given: list[Row], read: list[Row]) -> bool:
    """Whether what was ``given`` to a model is what was ``read``, or part of it."""
    known = set(read)
    return sum(row in known for row in given) >= ALIKE * len(given)
