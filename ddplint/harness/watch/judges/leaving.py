"""Whether ranks made different numbers of training steps, so that some wait for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.judges import collective
from ddplint.harness.watch.meetings import End, Ending, ending, is_stuck
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Place, Rank, Run
    from ddplint.harness.watch.source import Exit, Source

RULE = "ddp-rank-local-exit"

Stack = tuple[str, ...]


def judge(run: Run, source: Source) -> list[Verdict]:
    """The statement by which a rank leaves the training, or passes a backward by, so that others wait."""
    endings = {rank.number: ending(rank) for rank in run.ranks}
    made = {rank.number: sum(1 for _ in rank.of("backward_begun")) for rank in run.ranks}
    if not all(made.values()) or run.is_cut:
        return [Verdict(RULE, State.NOT_EXERCISED, "not every rank trained")]
    if not is_stuck(run, endings):
        if any(one.how is not End.REACHED for one in endings.values()):
            text = "the run ended before all ranks came to their end, and none was seen to wait for another"
            return [Verdict(RULE, State.CANNOT_JUDGE, text)]
        return [Verdict(RULE, State.CLEAN, "all ranks trained to their end, and none waited for another")]
    if any(verdict.state is State.FOUND for verdict in collective.judge(run, source)):
        text = f"ranks wait for each other in a collective that not all came to: see {collective.RULE}"
        return [Verdict(RULE, State.CANNOT_JUDGE, text)]
    for rank in run.ranks:
        waits = endings[rank.number].at
        if waits is None or waits["ev"] == "forward":
            continue
        fewer = [other for other in run.ranks if made[other.number] < made[rank.number]]
        gone = [other for other in fewer if _is_past(endings[other.number], waits, source)]
        if gone:
            return [_found(rank, waits, gone[0], made, source)]
    return [Verdict(RULE, State.CANNOT_JUDGE, "ranks wait for each other, and none was seen to leave the training")]


def _is_past(ended: Ending, waits: Event, source: Source) -> bool:
    """Whether a rank has come to its end, or waits outside the loop in which another waits for its backward."""
    if ended.at is None:
        return ended.how is End.REACHED
    if ended.at["ev"] != "collective":
        return False
    return bool(collective.left_loops(sites(ended.at), sites(waits), source))


def _found(rank: Rank, waits: Event, gone: Rank, made: dict[int, int], source: Source) -> Verdict:
    stack, how = _statement(rank, waits, gone, source)
    numbers: dict[str, object] = {
        "backwards": {str(number): count for number, count in sorted(made.items())},
        "waits_at": place_of(waits),
    }
    counted = (
        f"rank {gone.number} made {made[gone.number]} backwards, and rank {rank.number}, which made "
        f"{made[rank.number]}, waits at {place_of(waits)} for ever"
    )
    if not stack:
        text = f"{counted}; which statement let rank {gone.number} go is not sure"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(waits), (gone.number,), numbers)
    text = (
        f"{how} decided by one rank alone: {counted}. Let all ranks decide alike, for instance by a value "
        "that is reduced or broadcast first."
    )
    return Verdict(RULE, State.FOUND, text, stack, (gone.number,), numbers)


def _statement(rank: Rank, waits: Event, gone: Rank, source: Source) -> tuple[Stack, str]:
    """The statement by which ``gone`` has made fewer backwards than ``rank``, as far as one alone can be it."""
    for left, first in _given_up(rank, gone):
        statement = source.exit_at(sites(left)[0]) if sites(left) else None
        if statement is not None and first:
            return sites(left), f"This {statement.kind} is"
    stack = sites(waits)
    is_over_batches = any(True for _ in gone.of("batch"))  # a loop over a loader is left with its pass
    ways = _skips(stack, source) if _has_skipped(gone) else _ends(stack, source, is_inside=not is_over_batches)
    places = sorted({way for way, _ in ways})
    if len(places) != 1:
        return (), ""
    kind = next(kind for _, kind in ways)
    return places[0], f"This {kind} is"


def _given_up(rank: Rank, gone: Rank) -> list[tuple[Event, bool]]:
    """The passes that ``gone`` gave up before their end, and whether ``rank`` read more of the same pass."""
    read, other = _batches(gone), _batches(rank)
    found = []
    for event in gone.of("pass_left"):
        key = gone.place("loader", event["loader"]), event["number"]
        found.append((event, other.get(key, 0) > read.get(key, 0)))
    return found


def _batches(rank: Rank) -> dict[tuple[Place | None, int], int]:
    counts: dict[tuple[Place | None, int], int] = {}
    for event in rank.of("batch"):
        key = rank.place("loader", event["loader"]), event["number"]
        counts[key] = counts.get(key, 0) + 1
    return counts


def _has_skipped(rank: Rank) -> bool:
    """Whether a forward in training, with gradients, was not followed by a backward before the next batch."""
    pending = False
    for event in rank.of("batch", "pass_end", "forward", "backward_begun"):
        kind = event["ev"]
        if kind == "forward":
            pending |= bool(event.get("grad") and event.get("training"))
        elif kind == "backward_begun":
            pending = False
        elif pending:
            return True
    return False


def _skips(stack: Stack, source: Source) -> list[tuple[Stack, str]]:
    """The statements that pass by the call at ``stack``, from its own frame to the one that holds the loop."""
    found: list[tuple[Stack, str]] = []
    for at, site in enumerate(stack):
        outer = stack[at + 1 :]
        loops, line = source.loops(site), int(site.rpartition(":")[2])
        for one in source.exits(site):
            goes_on = one.kind == "continue" and one.loops == loops[: len(one.loops)] and len(one.loops) == len(loops)
            returns = one.kind == "return" and not loops
            if (goes_on or returns) and (one.line < line or one.in_handler):
                found.append(((one.site, *outer), one.kind))
        found += [
            ((test, *outer), "if") for test in source.ifs(site) if not loops or int(test.rpartition(":")[2]) > loops[-1]
        ]
        if loops:
            break
    return found


def _ends(stack: Stack, source: Source, *, is_inside: bool) -> list[tuple[Stack, str]]:
    """The statements that leave the loops round the call at ``stack``, the innermost only where ``is_inside``."""
    found: list[tuple[Stack, str]] = []
    for at, site in enumerate(stack):
        loops = source.loops(site)
        outer_loops = loops if is_inside else loops[:-1]
        is_inside |= bool(loops)
        if outer_loops:
            found += [
                ((one.site, *stack[at + 1 :]), one.kind) for one in source.exits(site) if _leaves(one, outer_loops)
            ]
    return found


def _leaves(one: Exit, loops: tuple[int, ...]) -> bool:
    if not one.loops or one.loops[-1] not in loops:
        return False
    return one.kind in ("break", "return")
