"""ddp-unguarded-save: every rank writes one path at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import EVERY_RANK, meets
from ddplint.engine.questions import Program, first_of_arms, places_to_report
from ddplint.engine.values import UNSEEN, Obj, Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place

SYMBOL = "ddp-unguarded-save"
_ASKS_FOR_FILES = re.compile(r"exists|is_?file|is_?dir|^builtins\.(?:all|any)\(")


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Writes that every rank does to one file."""
    wrong: dict[Site, list[facts.Event]] = defaultdict(list)
    right: dict[Site, list[facts.Event]] = defaultdict(list)
    wraps: dict[int, Program] = {}
    for program in programs:
        if not program.wraps or not program.joins_ranks:
            continue
        unguarded: list[facts.Event] = []
        for save in program.trace.of(facts.Save):
            wraps[id(save)] = program
            if _first_goes_ahead(program, save):
                continue
            if program.unguarded(save):
                if _one_file(save):
                    unguarded.append(save)
                elif save.file.per_rank:
                    right[save.site].append(save)
            elif program.in_parent(save) and not program.before_spawn(save):
                continue  # a run in one process, which says nothing about the ranks
            elif meets(save.path, program.wrapped):
                right[save.site].append(save)
        for event in first_of_arms({save: (*save.chain, save.site) for save in unguarded}):
            wrong[event.site].append(event)
    for construct, events in wrong.items():
        for site, event in places_to_report(events, right[construct]):
            assert isinstance(event, facts.Save)
            written = "" if site == construct else f" (written at {place(construct, site)})"
            first = wraps[id(event)].wraps[0].site
            details = (_what(event.how), written, place(first, site))
            yield finding(SYMBOL, site, details, [construct, first, *event.chain], branch=True)


def _first_goes_ahead(program: Program, save: facts.Save) -> bool:
    """Whether the other ranks wait until one has been here, and then find the file."""
    if not all(any(not there and _ASKS_FOR_FILES.search(key.text) for key, there in case.facts) for case in save.path):
        return False
    barriers = [e for e in program.trace.of(facts.Collective) if e.name == "barrier" and _parts_ranks(e)]
    return any(
        before.index < save.index < after.index and not meets(before.path, after.path)
        for before in barriers
        for after in barriers
    )


def _parts_ranks(event: facts.Event) -> bool:
    return any(case.mask != EVERY_RANK or case.unsure for case in event.path)


def _one_file(save: facts.Save) -> bool:
    """Whether the file is the same one for every rank, as far as can be seen."""
    if any(isinstance(part, Obj) and part.kind == "loader" for part in save.file.taint):
        return False  # named after a batch, of which each rank may see its own
    return not save.file.per_rank and UNSEEN not in save.file.taint


def _what(how: str) -> str:
    if how == "open":
        return "This file is opened for writing"
    if how in ("os.remove", "os.unlink", "Path.unlink", "Path.rmdir"):
        return f"This file is removed ({how})"
    return f"This file is written ({how})"


RULE = Rule(
    id="W7104",
    symbol=SYMBOL,
    message=(
        "%s by every rank at once%s: the model is wrapped at %s, and no test of the rank stands over it. The last "
        "writer wins, and writers of different sizes leave a corrupt file. Put it under 'if dist.get_rank() == 0:'"
    ),
    description=(
        "Code that every rank runs writes to one path. Where the contents differ the last writer wins and the rest is "
        "lost; where the sizes differ the file can be corrupt. Let one rank write: 'if dist.get_rank() == 0:', or give "
        "each rank a path of its own."
    ),
    check=check,
)
