"""Which passes over which loaders trained a wrapper.

A training pass is one during which an optimizer stepped whose gradients came from its batches: evaluation and a peek
at the first batch are none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank

Row = Any
"""The hash of a row, or an index."""


@dataclass(eq=False)
class Pass:
    """One pass over a loader.

    ``batches`` are its events, ``given`` the forwards with gradients that led to a backward of its gradients;
    ``complete`` tells whether it ran to its end, ``models`` are the wrappers that an optimizer stepped on it for.
    """

    loader: int
    number: int
    batches: list[Event] = field(default_factory=list)
    given: list[Event] = field(default_factory=list)
    complete: bool = False
    models: set[int] = field(default_factory=set)

    def rows(self) -> list[Row] | None:
        """The hashes of all rows in order; None where one batch has none."""
        return _joined(self.batches, "rows")

    def inputs(self) -> list[Row] | None:
        """The hashes of the rows of each batch's first tensor in order; None where one batch has none."""
        return _joined(self.batches, "inputs")

    def given_rows(self) -> list[Row] | None:
        """The hashes of the rows of the wrapper's first input, in order; None where one forward has none."""
        return _joined(self.given, "rows")

    def indices(self) -> list[int] | None:
        """The data set's indices in order; None where those of one batch are not known."""
        return _joined(self.batches, "index")


Read = tuple[Pass, "Event"]
"""A batch that was read, and its pass."""


def training_passes(rank: Rank) -> list[Pass]:
    """The training passes of a rank, in the order of their first batches."""
    passes: dict[tuple[int, int], Pass] = {}
    read: list[Read] = []  # since the last backward
    forwards: list[Event] = []  # with gradients, since the last backward
    pending: set[Pass] = set()  # those whose gradients no step has used yet
    for event in rank.of("batch", "pass_end", "forward", "backward", "step"):
        kind = event["ev"]
        if kind in ("batch", "pass_end"):
            key = event["loader"], event["number"]
            current = passes.setdefault(key, Pass(*key))
            if kind == "pass_end":
                current.complete = True
            else:
                current.batches.append(event)
                if read and _hands_on(event, read[-1][1]):
                    read.pop()
                read.append((current, event))
        elif kind == "forward" and event.get("grad"):
            forwards.append(event)
        elif kind == "backward":
            for source in _sources(read, forwards):
                source.given.extend(forwards)
                pending.add(source)
            read, forwards = [], []
        elif kind == "step" and event.get("models"):
            for trained in pending:
                trained.models.update(event["models"])
            pending = set()
    return [found for found in passes.values() if found.models]


def _hands_on(batch: Event, before: Event) -> bool:
    """Whether a loader's batch is the one that another loader, somewhere in its data set, has just yielded."""
    return batch["loader"] != before["loader"] and bool(batch.get("rows")) and batch["rows"] == before.get("rows")


def _sources(read: list[Read], forwards: list[Event]) -> set[Pass]:
    """The passes that a backward's gradients come from, of the batches ``read`` before it.

    These are the ones whose rows were given to the wrapper, in training mode if any; where none can be told so, those
    read with gradients on. A pass that is at its end is an evaluation before, unless it is the last one read.
    """
    in_training = [event for event in forwards if event.get("training")]
    likely = (
        _given(read, in_training)
        or _given(read, forwards)
        or [found for found, batch in read if batch.get("grad", True)]
        or [found for found, _ in read]
    )
    return {found for found in likely if not found.complete} or set(likely[-1:])


def _given(read: list[Read], forwards: list[Event]) -> list[Pass]:
    """The passes of those batches that were given to the ``forwards``, whole or in parts, in the order of reading.

    A row that was read twice, as where the first batch was looked at before, was given by the last reader.
    """
    parts = [set(hashable(event.get("rows") or ())) for event in forwards]
    left = {row for part in parts for row in part}
    given: list[Pass] = []
    for found, batch in reversed(read):
        rows = set(hashable(batch.get("inputs") or ()))
        if rows & left and (rows <= left or any(part <= rows for part in parts)):
            given.insert(0, found)
            left -= rows
    return given


def by_loader(passes: Iterable[Pass]) -> dict[int, list[Pass]]:
    """Passes by the number of their loader."""
    found: dict[int, list[Pass]] = defaultdict(list)
    for one in passes:
        found[one.loader].append(one)
    return found


def forward_rows(rank: Rank) -> list[list[Row]]:
    """The rows given to each forward with gradients, in order; forwards without rows are left out."""
    return [event["rows"] for event in rank.of("forward") if event.get("grad") and event.get("rows")]


def _joined(batches: list[Event], name: str) -> list[Row] | None:
    joined: list[Row] = []
    for batch in batches:
        part = batch.get(name)
        if part is None:
            return None
        joined.extend(hashable(part))
    return joined


def hashable(part: Iterable[Row]) -> list[Row]:
    """``part`` as JSON gave it, with tuples in place of lists."""
    return [tuple(row) if isinstance(row, list) else row for row in part]
