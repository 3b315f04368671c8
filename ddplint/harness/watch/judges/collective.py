"""Whether every rank of a group came to each of its collectives."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ddplint.harness.watch.meetings import FORWARD, End, Ending, Gap, Meeting, ending, gaps, is_stuck, meetings
from ddplint.harness.watch.observed import place_of, shared_start, sites
from ddplint.harness.watch.source import asks_for_rank
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.harness.watch.observed import Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-rank-guarded-collective"


def judge(run: Run, source: Source) -> list[Verdict]:
    """The collectives that some ranks of their group never came to."""
    endings = {rank.number: ending(rank) for rank in run.ranks}
    stuck = is_stuck(run, endings)
    met = [event for rank in run.ranks for event in rank.of("collective") if len(event.get("members") or ()) > 1]
    if not stuck and {one.how for one in endings.values()} != {End.REACHED}:
        text = "the run ended before all ranks came to their end, and none was seen to wait for another"
        return [Verdict(RULE, State.CANNOT_JUDGE if met else State.NOT_EXERCISED, text)]
    parts = [
        _found(gap, meeting, endings, source, stuck=stuck)
        for gap in ([] if run.is_cut else gaps(run))
        for meeting in _guarded(run, gap, endings, source, stuck=stuck)
    ]
    if parts:
        return summed_up(RULE, parts[:1], "")
    if stuck:
        text = "ranks wait for each other, and what keeps them apart is no collective of the program's own"
        return [Verdict(RULE, State.CANNOT_JUDGE, text)]
    if not met:
        return [Verdict(RULE, State.NOT_EXERCISED, "the program made no collective of its own")]
    return [Verdict(RULE, State.CLEAN, "every rank came to each collective of its groups", sites(met[0]))]


def _guarded(run: Run, gap: Gap, endings: dict[int, Ending], source: Source, *, stuck: bool) -> list[Meeting]:
    """The first meeting of a gap that the other rank has passed by, in a list; an empty one where none is sure."""
    ours = [one for one in gap.ours if one.is_own]
    if not stuck:
        # What is equal in number on all ranks was met, in whatever order it was seen.
        ours = [one for one in ours if one.kind != FORWARD and _is_more(run, gap, one.kind)]
    ours = [one for one in ours if one.kind != FORWARD or not _goes_on_training(run, gap, one)]
    if not ours:
        return []
    if not gap.is_last:
        return ours[:1]
    if endings[gap.other].how is End.REACHED:
        left = not _tells_ranks_apart(ours[0].stack, (), source) and _has_trained_less(run, gap)
        return [] if left else ours[:1]
    waits = endings[gap.other].at
    if waits is None:
        return []
    # Of two places that ranks wait at, the one that not all come to stands under a test of the rank.
    there = sites(waits)
    own, other = _tells_ranks_apart(ours[0].stack, there, source), _tells_ranks_apart(there, ours[0].stack, source)
    return ours[:1] if own and not other else []


def _has_trained_less(run: Run, gap: Gap) -> bool:
    """Whether the other rank made fewer backwards: it may have left the loop that the collective stands in."""
    made = {rank.number: sum(1 for _ in rank.of("backward_begun")) for rank in run.ranks}
    return made[gap.other] < made[gap.rank]


def _is_more(run: Run, gap: Gap, kind: str) -> bool:
    counts = []
    ranks = {rank.number: rank for rank in run.ranks}
    for one, other in ((gap.rank, gap.other), (gap.other, gap.rank)):
        counts.append(Counter(meeting.kind for meeting in meetings(ranks[one], other))[kind])
    return counts[0] > counts[1]


def _goes_on_training(run: Run, gap: Gap, forward: Meeting) -> bool:
    """Whether what comes after a forward is one that trains: the others then meet it in theirs."""
    rank = next(rank for rank in run.ranks if rank.number == gap.rank)
    later = [one for one in meetings(rank, gap.other) if one.event["t"] > forward.event["t"]]
    following = next((one for one in later if one.kind != FORWARD or one.event.get("grad")), None)
    return following is not None and (following.kind == FORWARD)


def _tells_ranks_apart(stack: Sequence[str], other: Sequence[str], source: Source) -> bool:
    """Whether what leads to ``stack``, and not to ``other``, is decided by a test of the rank."""
    apart = stack[: len(stack) - shared_start(stack[::-1], other[::-1])]
    shared = len(stack) - len(apart)
    common = set(source.tests(other[-shared - 1])) if shared < len(other) else set()
    return any(asks_for_rank(test) for site in apart for test in source.tests(site) if test not in common)


def left_loops(here: Sequence[str], there: Sequence[str], source: Source) -> bool:
    """Whether ``here`` stands outside the loops that ``there`` stands in, by the function in which the two part."""
    shared = shared_start(here[::-1], there[::-1])
    if shared >= min(len(here), len(there)):
        return False
    one, other = here[-shared - 1], there[-shared - 1]
    if not source.are_in_one_function(one, other):
        return False
    deeper = [loop for site in there[: -shared - 1] for loop in source.loops(site)]
    return bool(deeper or source.loops(other)) and not set(source.loops(one)) & set(source.loops(other))


def _place(stack: tuple[str, ...], source: Source) -> tuple[str, ...]:
    """The stack from the frame on that stands under a test of the rank; below a decorator that asks for it."""
    for at, site in enumerate(stack):
        if any(asks_for_rank(test) for test in source.tests(site)):
            return stack[at - 1 :] if at and source.hands_on(site) else stack[at:]
    return stack


def _found(gap: Gap, meeting: Meeting, endings: dict[int, Ending], source: Source, *, stuck: bool) -> Verdict:
    stack = _place(meeting.stack, source)
    what = "calls the wrapper here, which sends its buffers" if meeting.kind == FORWARD else f"calls {meeting.kind}()"
    text = (
        f"Rank {gap.rank} {what}{'' if stack[:1] == meeting.stack[:1] else ' from here'}, and rank {gap.other} never "
        f"comes to it: {_harm(gap, endings, stuck=stuck)}. Let every rank of the group make this call, and test the "
        "rank for what is done with the result."
    )
    evidence: dict[str, object] = {
        "call": meeting.stack[0] if meeting.stack else None,
        "operation": "forward" if meeting.kind == FORWARD else meeting.kind,
        "times": sum(one.stack == meeting.stack for one in gap.ours),
        "without": [gap.other],
    }
    return Verdict(RULE, State.FOUND, text, stack, (gap.rank,), evidence)


def _harm(gap: Gap, endings: dict[int, Ending], *, stuck: bool) -> str:
    if not stuck:
        return "it met another call of that rank's, and values were mixed up"
    said = []
    for number in (gap.rank, gap.other):
        waits = endings[number].at
        where = "came to its end" if waits is None else f"waited in {_act(waits)} at {place_of(waits)}"
        said.append(f"rank {number} {where}")
    return f"in the end {' and '.join(said)}"


def _act(event: dict[str, object]) -> str:
    return str(event.get("op") or ("a backward" if event["ev"] == "backward_begun" else "a forward"))
