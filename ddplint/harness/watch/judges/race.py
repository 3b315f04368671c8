"""Whether a rank read a file that another wrote, with nothing between that makes it wait."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from ddplint.harness.watch.meetings import meetings
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.source import asks_for_rank
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-load-before-barrier"

Written = dict[str, dict[int, list["Event"]]]
"""By path and rank, the events that wrote it."""


def judge(run: Run, source: Source) -> list[Verdict]:
    """The reads of a file that one other rank wrote, in the same stretch between two meetings of both."""
    written: Written = defaultdict(lambda: defaultdict(list))
    for rank in run.ranks:
        for event in rank.of("save", "open", "rename"):
            if event.get("path") and str(event.get("mode", "w")) != "a":
                written[event["path"]][rank.number].append(event)
    met = _Met()
    parts = [] if run.is_cut else [part for rank in run.ranks for part in _judge_rank(run, rank, written, met, source)]
    return summed_up(RULE, parts, "no file that one rank wrote was read by another")


class _Met:
    """How often a rank had met another before an event."""

    def __init__(self) -> None:
        self._times: dict[tuple[int, int], list[float]] = {}

    def before(self, event: Event, rank: Rank, other: int) -> int:
        """How often ``rank`` had met ``other`` before its ``event``."""
        key = rank.number, other
        if key not in self._times:
            self._times[key] = [meeting.event["t"] for meeting in meetings(rank, other)]
        return bisect_left(self._times[key], event["t"])


def _judge_rank(run: Run, rank: Rank, written: Written, met: _Met, source: Source) -> Iterator[Verdict]:
    for read in rank.of("read"):
        by_rank = written.get(read["path"], {})
        # What copies a file reads it only to write: that is the unguarded save's.
        if len(by_rank) != 1 or rank.number in by_rank or "shutil" in (read.get("through") or ()):
            continue
        ((writer, events),) = by_rank.items()
        other = next(one for one in run.ranks if one.number == writer)
        count = met.before(read, rank, writer)
        meanwhile = [event for event in events if met.before(event, other, rank.number) == count]
        races = [event for event in meanwhile if not _reads_before(other, event)]
        if not races:
            text = f"the ranks met between the write of {read['path']} and its read"
            yield Verdict(RULE, State.CLEAN, text, sites(read), (rank.number,))
        elif not any(asks_for_rank(test) for site in sites(races[-1]) for test in source.tests(site)):
            text = f"that rank {writer} alone wrote {read['path']} is not decided by a test of the rank"
            yield Verdict(RULE, State.CANNOT_JUDGE, text, sites(read), (rank.number,))
        elif _waits_otherwise(rank, other, read, source):
            text = f"rank {rank.number} may have waited for {read['path']} in a way of its own"
            yield Verdict(RULE, State.CANNOT_JUDGE, text, sites(read), (rank.number,))
        else:
            yield _found(rank, read, writer, races[-1])


def _reads_before(writer: Rank, write: Event) -> bool:
    """Whether the writer itself reads the file before it writes it: the others' read comes first, too."""
    before = [
        event
        for event in writer.of("read", "save", "open", "rename")
        if event.get("path") == write["path"] and event["t"] < write["t"] and sites(event) != sites(write)
    ]
    return bool(before) and before[-1]["ev"] == "read"


def _waits_otherwise(rank: Rank, other: Rank, read: Event, source: Source) -> bool:
    again = [event for event in rank.of("read") if event["path"] == read["path"] and event.get("missing")]
    messages = any(True for one in (rank, other) for _ in one.of("message"))
    return messages or len(again) > 1 or any(source.polls(site) for site in sites(read))


def _found(rank: Rank, read: Event, writer: int, write: Event) -> Verdict:
    what = "was not there yet" if read.get("missing") else "was there this time, whole or in part"
    text = (
        f"Rank {rank.number} reads {read['path']} here, which rank {writer} writes at {place_of(write)}, and nothing "
        f"makes it wait until that is done: the file {what}. Write 'dist.barrier()' between the two, for all ranks."
    )
    evidence: dict[str, object] = {
        "path": read["path"],
        "written_at": place_of(write),
        "missing": bool(read.get("missing")),
        "seconds_after": round(read["t"] - write["t"], 4),
    }
    return Verdict(RULE, State.FOUND, text, sites(read), (rank.number,), evidence)
