"""ddp-rank-guarded-collective: some ranks come to a call that every rank has to make, and the others do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.meeting import (
    Decided,
    Meeting,
    before_next_forward,
    decided_alone,
    meetings,
    parted,
    ranks_left_out,
    sends_buffers,
)
from ddplint.engine.placing import decorated_within, function_of
from ddplint.engine.questions import Program
from ddplint.engine.values import Site
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place
from ddplint.rules.wording import written

SYMBOL = "ddp-rank-guarded-collective"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Collectives that some ranks alone come to."""
    for program in programs:
        if not program.wraps or not program.joins_ranks:
            continue
        said: set[object] = set()
        found: set[Site] = set()
        together = meetings(program)
        for event in together:
            absent = ranks_left_out(program, event, together)
            alone = None if absent else decided_alone(program, event, together)
            if not absent and alone is None:
                continue
            if isinstance(event, facts.Forward) and not _collides(program, event):
                continue
            # of those behind one test, the first
            site = _parting(program, event) if alone is None else alone.step
            same_path = (function_of(site), event.chain[: _level(event, site)], event.path)
            behind = same_path if alone is None else alone.test
            if site not in found and behind not in said:
                yield _finding(program, event, site, absent, alone)
            found.add(site)
            said.add(behind)


def _collides(program: Program, forward: facts.Forward) -> bool:
    """Whether the buffers that some ranks send in a forward are not those that the others wait for next."""
    return sends_buffers(program, forward) and before_next_forward(program, forward) is not None


def _level(event: facts.Event, site: Site) -> int:
    """How many calls lead to the function in which ``site`` stands."""
    return event.chain.index(site) if site in event.chain else len(event.chain)


def _parting(program: Program, event: facts.Event) -> Site:
    """The first call, of those that lead to a collective and itself, that some ranks alone make."""
    route = (*event.chain, event.site)
    paths = (*event.entered, event.path)
    for number, (site, path) in enumerate(zip(route, paths, strict=True)):
        if any(parted(program, path)) and not (number + 1 < len(route) and decorated_within(route[number + 1], site)):
            return site
    return event.site


def _finding(program: Program, event: Meeting, site: Site, absent: int, decided: Decided | None) -> Finding:
    wrap = program.wraps[0].site
    alone = absent == 0b1110
    there = "this" if site == event.site else "the"
    at = "" if site == event.site else f" at {place(event.site, site)}"
    if isinstance(event, facts.Collective):
        what, cure = f"{there} {event.name}{at}", "Let every rank make the call, and test the rank around the rest"
    elif isinstance(event, facts.Wrap):
        what, cure = f"{there} construction of the wrapper{at}", "Let every rank wrap its model"
    else:
        node = event.site.node
        name = written(node.func, "model") if isinstance(node, ast.Call) else "model"
        what = f"{there} forward of the wrapper{at}, which broadcasts the buffers of the model"
        cure = f"Call '{name}.module' there" if site == event.site else "Pass it the '.module' of the wrapper"
    who = "Only rank 0 comes" if alone else "Not every rank comes"
    if decided is not None:
        who = f"By {decided.why}, some ranks may come alone"
        cure = "Let every rank decide alike: reduce or broadcast what is asked first"
    others: list[Other] = [
        (event.site, "the call that every rank has to make is here"),
        (wrap, "the model is wrapped here"),
    ]
    others += [(call, "") for call in event.chain]
    return finding(SYMBOL, site, (who, what, place(wrap, site), cure), others, branch=True)


RULE = Rule(
    id="W7113",
    symbol=SYMBOL,
    message=(
        "%s to %s. Every rank has to make this call (the model is wrapped at %s): it waits for the others for ever, "
        "or takes what they send in another one. %s"
    ),
    check=check,
)
