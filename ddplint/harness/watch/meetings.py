"""Where ranks meet (collectives, wraps, averaged backwards, forwards that send buffers), and how each rank ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from ddplint.harness.ending import is_of_peers
from ddplint.harness.watch.observed import shared_start, sites

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run

REDUCE = "the average of a backward"
WRAP = "the making of a wrapper"
FORWARD = "the forward of a wrapper, which sends the buffers"

_PATIENCE = 6.0  # seconds without an event (of which the launcher takes some) after which a rank waits
_MOST = 1500  # meetings of two ranks that are held against each other, from where they part
_PROGRESS = ("loader", "wrap", "batch", "forward", "backward", "step", "collective")
_SILENT = ("exit", "crash", "sync", "pass_left", "no_sync", "no_sync_end")  # what does not end a forward


class End(Enum):
    """How a rank ended."""

    REACHED = "came to its end"
    WAITS = "waits for the others"
    FAILED = "failed"
    UNKNOWN = "was ended"


@dataclass(frozen=True)
class Ending:
    """How a rank ended; ``at`` is the event that it never came back from, where it waits for others."""

    how: End
    at: Event | None = None
    is_lost: bool = False
    """Whether it noticed that the others are gone."""


@dataclass(frozen=True)
class Meeting:
    """One meeting that a rank came to."""

    kind: str
    stack: tuple[str, ...]
    event: Event

    @property
    def is_own(self) -> bool:
        """Whether the program itself called it, as a collective or by a forward."""
        return self.kind not in (REDUCE, WRAP)


@dataclass(frozen=True)
class Gap:
    """Between two meetings of both ranks, those that ``ours`` came to and ``others`` did not.

    ``theirs`` are those that the others came to alone, ``is_last`` tells that no meeting of both follows.
    """

    ours: Sequence[Meeting]
    theirs: Sequence[Meeting]
    rank: int
    other: int
    is_last: bool


def ending(rank: Rank) -> Ending:
    """How a rank ended, as its own events tell."""
    opened: Event | None = None
    crash: Event | None = None
    reached = False
    for event in rank.events:
        kind = event["ev"]
        if kind in ("collective", "backward_begun") or (kind == "forward" and event.get("broadcast")):
            opened = event
        elif kind in ("collective_end", "backward") or (
            opened is not None and opened["ev"] == "forward" and kind not in _SILENT
        ):
            opened = None
        reached |= kind in ("exit", "group_end")
        crash = event if kind == "crash" else crash
    if crash is not None:
        is_lost = opened is not None and is_of_peers(f"{crash.get('type')} {crash.get('text')}")
        return Ending(End.WAITS, opened, is_lost=True) if is_lost else Ending(End.FAILED)
    if reached:
        return Ending(End.REACHED)
    return Ending(End.UNKNOWN) if opened is None else Ending(End.WAITS, opened)


def is_stuck(run: Run, endings: dict[int, Ending]) -> bool:
    """Whether ranks wait that nobody comes to meet: each of the others has ended, or waits as well."""
    hows = {one.how for one in endings.values()}
    if End.WAITS not in hows or not hows <= {End.WAITS, End.REACHED} or len(endings) < run.world:
        return False
    if any(one.is_lost for one in endings.values()):
        return True
    last = max((one.at["t"] for one in endings.values() if one.at is not None), default=None)
    return run.time_up is not None and last is not None and run.time_up - last >= _PATIENCE


def goes_on(run: Run) -> bool:
    """Whether a rank was at work when the program was ended because its time was up."""
    last = max((event["t"] for rank in run.ranks for event in rank.of(*_PROGRESS)), default=None)
    return run.time_up is not None and last is not None and run.time_up - last < _PATIENCE


def meetings(rank: Rank, other: int) -> list[Meeting]:
    """The meetings of a rank in groups to which ``other`` belongs too, in order."""
    members = {model: made.get("members") or () for model, made in rank.made("wrap").items()}
    waits = ending(rank).at
    found = []
    for event in rank.of("wrap", "collective", "sync", "forward", "backward_begun"):
        kind = event["ev"]
        if kind == "collective" and other in (event.get("members") or ()):
            found.append(Meeting(str(event.get("op")), sites(event), event))
        elif kind == "forward" and event.get("broadcast") and other in members.get(event["model"], ()):
            found.append(Meeting(FORWARD, sites(event), event))
        elif kind == "wrap" and other in (event.get("members") or ()):
            found.append(Meeting(WRAP, (), event))
        elif (kind == "sync" and other in members.get(event["model"], ())) or event is waits:
            found.append(Meeting(REDUCE, (), event))
    return found


def gaps(run: Run) -> Iterator[Gap]:
    """Where one rank came to a meeting that another did not come to.

    Meetings of one kind between two common ones are met by each other, wherever they are called.
    """
    first, *others = run.ranks
    pairs = {(first, other) for other in others} | set(pairwise(run.ranks))  # not all: they grow as a square
    in_order = sorted(pairs, key=lambda pair: (pair[0].number, pair[1].number))
    for ours, theirs in chain.from_iterable((pair, pair[::-1]) for pair in in_order):
        left, right = meetings(ours, theirs.number), meetings(theirs, ours.number)
        start = shared_start([_key(one) for one in left], [_key(one) for one in right])
        left, right = left[start : start + _MOST], right[start : start + _MOST]
        matcher = SequenceMatcher(None, [_key(one) for one in left], [_key(one) for one in right], autojunk=False)
        for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
            if tag == "equal":
                continue
            alone, their_own = _unmet(left[begin:end], right[other_begin:other_end])
            if alone:
                is_last = end == len(left) and other_end == len(right)
                yield Gap(alone, their_own, ours.number, theirs.number, is_last)


def _key(meeting: Meeting) -> tuple[str, tuple[str, ...]]:
    return meeting.kind, meeting.stack


def _unmet(left: list[Meeting], right: list[Meeting]) -> tuple[list[Meeting], list[Meeting]]:
    """The two without what meets one of the same kind."""
    both = Counter(one.kind for one in left) & Counter(one.kind for one in right)
    return tuple(_without(side, both) for side in (left, right))  # type: ignore[return-value]


def _without(side: list[Meeting], both: Counter[str]) -> list[Meeting]:
    left = Counter(both)
    kept = []
    for one in side:
        if left[one.kind]:
            left[one.kind] -= 1
        else:
            kept.append(one)
    return kept
