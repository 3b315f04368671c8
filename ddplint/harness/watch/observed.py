"""The events of a run, by rank, with the objects that correspond to each other on all ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ddplint.harness.watch.events import Event

Place = tuple[tuple[str, ...], int]
"""Where an object was made (the user's frames, innermost first) and which of those made there it is, from 0.

Objects of one place correspond to each other on all ranks; their numbers need not: a rank may make more of them.
"""


class Rank:
    """What one rank did: ``events`` of the process that joined the group, and ``all_events`` of its helpers too."""

    def __init__(self, number: int, events: Sequence[Event]) -> None:
        self.number = number
        self.all_events = events
        main = _main_process(events)
        self.events = [event for event in events if event["pid"] == main]

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, in order."""
        return (event for event in self.events if event["ev"] in kinds)

    @cached_property
    def _made(self) -> dict[str, dict[int, Event]]:
        made: dict[str, dict[int, Event]] = defaultdict(dict)
        for event in self.of("loader", "sampler", "wrap"):
            made[event["ev"]][event[_NUMBERED[event["ev"]]]] = event
        return made

    def made(self, kind: str) -> dict[int, Event]:
        """The events in which objects of a kind (``loader``, ``sampler``, ``wrap``) were made, by number."""
        return self._made[kind]

    @cached_property
    def _places(self) -> dict[tuple[str, int], Place]:
        found: dict[tuple[str, int], Place] = {}
        counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for kind in _NUMBERED:
            for number, event in self.made(kind).items():
                stack = sites(event)
                found[kind, number] = stack, counts[kind, stack]
                counts[kind, stack] += 1
        return found

    def place(self, kind: str, number: int) -> Place | None:
        """The place of an object, None where its making was not seen."""
        return self._places.get((kind, number))


_UNSEEN = "a place out of sight"
_NUMBERED = {"loader": "loader", "sampler": "sampler", "wrap": "model"}


@dataclass(frozen=True)
class Run:
    """All ranks of a run, by number.

    ``world`` is what the ranks said when they joined, 0 where none did; ``unseen`` names what the probe could not
    observe, by its parts or by torch's names; ``is_cut`` tells that it stopped writing when it had written too much.
    ``beside`` is what processes without a rank did, such as one that spawns the ranks, and ``time_up`` when the program
    was ended because its time was up.
    """

    ranks: tuple[Rank, ...]
    world: int
    unseen: tuple[str, ...]
    fake_cuda: bool
    is_cut: bool
    beside: tuple[Event, ...]
    time_up: float | None = None

    def wraps(self) -> bool:
        """Whether any rank made a wrapper."""
        return any(rank.made("wrap") for rank in self.ranks)

    def drawback(self) -> str | None:
        """Why no comparison between ranks is possible in this run, None where it is."""
        if self.world == 0:
            return "the script never joined a process group"
        if self.world == 1:
            return "there was one rank alone"
        if not self.wraps():
            return "no model was wrapped in DistributedDataParallel"
        return None


def observe(events: Iterable[Event]) -> Run:
    """``events`` (by time) as a run."""
    events = list(events)
    cut = min((event["t"] for event in events if event["ev"] == "limit"), default=None)
    if cut is not None:
        events = [event for event in events if event["t"] < cut]  # so that all ranks are known as far as each other
    rank_of: dict[int, int] = {}
    for event in events:
        if event.get("rank") is not None:
            rank_of[event["pid"]] = event["rank"]
    by_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event["pid"] in rank_of:
            by_rank[rank_of[event["pid"]]].append(event)
    joined = [event for event in events if event["ev"] == "init" and not event.get("worker")]
    missing = {name for event in events if event["ev"] == "start" for name in event.get("missing") or ()}
    failed = {event["where"] for event in events if event["ev"] == "fault"}
    return Run(
        ranks=tuple(Rank(number, by_rank[number]) for number in sorted(by_rank)),
        world=max((event.get("world") or 0 for event in joined), default=0),
        unseen=tuple(sorted(missing | failed)),
        fake_cuda=any(event["ev"] == "start" and event.get("fake_cuda") for event in events),
        is_cut=cut is not None,
        beside=tuple(event for event in events if event["pid"] not in rank_of and event["ev"] != "time_up"),
        time_up=next((event["t"] for event in events if event["ev"] == "time_up"), None),
    )


def _main_process(events: Sequence[Event]) -> int | None:
    """The process that is the rank itself: the one that joined, else the first that is no loader's worker."""
    own = [event for event in events if not event.get("worker")]
    joined = [event for event in own if event["ev"] == "init"]
    return (joined or own)[0]["pid"] if own else None


def sites(event: Event) -> tuple[str, ...]:
    """The user's frames at an event, innermost first."""
    return tuple(event.get("sites") or ())


def place_of(event: Event | None) -> str:
    """The place of an event, for a message."""
    return next(iter(sites(event)), _UNSEEN) if event is not None else _UNSEEN


def shared_start(left: Sequence[object], right: Sequence[object]) -> int:
    """How many items two sequences begin with alike."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
