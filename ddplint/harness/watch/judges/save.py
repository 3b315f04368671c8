"""Whether more than one rank wrote one file."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import sites
from ddplint.harness.watch.verdict import State, Verdict, listed, parted, summed_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Run
    from ddplint.harness.watch.source import Source
    from ddplint.harness.watch.verdict import Evidence

RULE = "ddp-unguarded-save"

_LOGGERS = {"logging", "tensorboard", "tensorboardX", "wandb", "mlflow", "hydra", "loguru", "aim", "comet_ml"}
"""What writes files of its own, each rank's under one name or not."""

_EXISTENCE = re.compile(r"exists|isfile|isdir|is_file|is_dir|listdir")
_RANK = re.compile(r"rank|main_process|master|primary|chief|leader|zero", re.IGNORECASE)

MOVED = "moved to its place"

Stack = tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """That a rank wrote ``path`` at ``stack`` (the user's frames, innermost first)."""

    rank: int
    path: str
    stack: Stack
    how: str


def judge(run: Run, source: Source) -> list[Verdict]:
    """The calls by which several ranks wrote one path."""
    writes = [write for rank in run.ranks for write in _writes(rank.number, rank.all_events)]
    # What one process does before it spawns the ranks is right.
    alone = [write.stack for write in _writes(-1, run.beside)]
    writers: dict[str, set[int]] = defaultdict(set)
    for write in writes:
        writers[write.path].add(write.rank)
    by_call: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        if write.stack:
            by_call[write.stack[0]].append(write)
    parts = [part for some in by_call.values() for part in _judge_call(some, writers, alone)]
    crashed = [rank.number for rank in run.ranks if any(True for _ in rank.of("crash"))]
    if not parts and writes and crashed:
        who = "rank" if len(crashed) == 1 else "ranks"
        text = f"{who} {listed(crashed)} failed, and might have written what another rank wrote"
        return [Verdict(RULE, State.CANNOT_JUDGE, text, writes[0].stack, tuple(crashed))]
    if not parts:
        parts = [_judge_race(write, source) for write in writes]
    return _first_arms(summed_up(RULE, parts, "no file was written by a rank"), source)


def _judge_race(write: Write, source: Source) -> Verdict:
    """What a write by one rank shows: nothing where the file's absence let that rank in, and no test of the rank."""
    tests = [test for site in write.stack for test in source.tests(site)]
    asks_for_file = any(_EXISTENCE.search(test) for test in tests)
    evidence: Evidence = {"path": write.path}
    if asks_for_file and not any(_RANK.search(test) for test in tests):
        text = (
            f"rank {write.rank} wrote {write.path} at {write.stack[0]} because it was not there; "
            "which ranks do so depends on who comes first"
        )
        return Verdict(RULE, State.CANNOT_JUDGE, text, write.stack, (write.rank,), evidence)
    text = "each file that was written was written by one rank"
    return Verdict(RULE, State.CLEAN, text, write.stack, (write.rank,), evidence)


def _first_arms(found: list[Verdict], source: Source) -> list[Verdict]:
    """Of the mistakes in the arms of one test, the first in the source."""
    kept: list[Verdict] = []
    for verdict in found:
        if not any(source.are_arms(one.site or "", verdict.site or "") for one in kept):
            kept.append(verdict)
    return kept


def _writes(rank: int, events: Iterable[Event]) -> Iterator[Write]:
    """What a rank wrote. What is saved into a file that the program opened itself was written where that was opened."""
    opened: dict[str, Stack] = {}
    for event in events:
        kind, path = event["ev"], event.get("path")
        if not path or path == os.devnull or not _LOGGERS.isdisjoint(event.get("through") or ()):
            continue
        if kind == "open" and _truncates(event.get("mode")):
            opened[path] = sites(event)
            yield Write(rank, path, sites(event), "opened for writing")
        elif kind == "save" and path not in opened:
            yield Write(rank, path, sites(event), str(event.get("via") or "saved"))
        elif kind == "rename":
            yield Write(rank, path, sites(event), MOVED)
        elif kind == "remove":
            yield Write(rank, path, sites(event), "removed")


def _truncates(mode: object) -> bool:
    return isinstance(mode, str) and any(letter in mode for letter in "wx")


def _judge_call(writes: list[Write], writers: dict[str, set[int]], alone: list[Stack]) -> list[Verdict]:
    """The mistakes of the writes that one call made.

    Where the function that holds the call is reached by a route of one rank as well, that route is guarded and the
    call is right: the mistake stands where the other routes leave it.
    """
    ranks_on: dict[Stack, set[int]] = defaultdict(set)
    for write in writes:
        ranks_on[write.stack].add(write.rank)
    crowded: dict[Stack, list[Write]] = defaultdict(list)
    for write in writes:
        if len(writers[write.path]) > 1 and len(ranks_on[write.stack]) > 1:
            crowded[write.stack].append(write)
    lonely = [*alone, *(stack for stack, ranks in ranks_on.items() if len(ranks) == 1)]
    if not crowded:
        # Ranks that met in one file on routes of their own: the first may be right, in the other arm of a test.
        others = [write for write in writes if len(writers[write.path]) > 1 and write.rank > min(writers[write.path])]
        ranks = {rank for write in others for rank in writers[write.path]}
        return [_found(others[0].stack, others, tuple(sorted(ranks)))] if others else []
    by_place: dict[str, tuple[Stack, list[Write]]] = {}
    for stack, some in crowded.items():
        place = parted(stack, lonely)
        by_place.setdefault(place[0], (place, []))[1].extend(some)
    return [_found(place, some, _ranks(some)) for place, some in by_place.values()]


def _found(stack: Stack, writes: list[Write], ranks: tuple[int, ...]) -> Verdict:
    paths = sorted({write.path for write in writes})
    how = writes[0].how
    verb = "removed" if how == "removed" else "written"
    harm = "the last writer wins, and writers of different sizes leave a broken file"
    if how == "removed":
        harm = "for all but the first it is gone, and they fail"
    elif all(write.how == MOVED for write in writes):
        harm = "each is whole, for a move takes a name at once, but the last one wins and what the others wrote is lost"
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    text = (
        f"{paths[0]}{more} was {verb} by ranks {listed(ranks)}: {harm}. "
        "Write 'if dist.get_rank() == 0:' over this call, or give each rank a path of its own."
    )
    evidence = {"paths": paths[:8], "files": len(paths), "writes": len(writes), "how": how, "call": writes[0].stack[0]}
    return Verdict(RULE, State.FOUND, text, stack, ranks, evidence)


def _ranks(writes: Iterable[Write]) -> tuple[int, ...]:
    return tuple(sorted({write.rank for write in writes}))
