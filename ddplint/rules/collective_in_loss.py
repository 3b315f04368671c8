"""ddp-collective-in-loss: a loss is made of what came out of a collective, through which no gradient comes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import conjoin
from ddplint.engine.gradients import REDUCES
from ddplint.engine.placing import place_to_report, settled_chain
from ddplint.engine.questions import Program
from ddplint.engine.values import Obj, Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place, wrapped_at, wrapped_here

SYMBOL = "ddp-collective-in-loss"


@dataclass(frozen=True)
class _Use:
    """A collective whose result is part of what a backward goes through."""

    collective: facts.Collective
    backward: facts.Backward
    wrapper: Obj


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Collectives in losses."""
    wrong: list[_Use] = []
    right: dict[Site, list[tuple[Site, ...]]] = defaultdict(list)
    for program in programs:
        used = {use.collective: use for use in _uses(program)}
        for event in program.trace.of(facts.Collective):
            if event in used:
                wrong.append(used[event])
            elif program.on_many_ranks(event, together=True):
                right[event.site].append(settled_chain((*event.chain, event.site)))
    for use in wrong:
        event = use.collective
        yield _finding(place_to_report((*event.chain, event.site), right[event.site]), use)


def _uses(program: Program) -> Iterator[_Use]:
    for backward in program.trace.of(facts.Backward):
        wrappers = program.wrappers_in(backward)
        if not wrappers:
            continue
        for event in _cutting(backward):
            path = conjoin(conjoin(event.path, backward.path), wrappers[0][1])
            if path and program.on_many_ranks(backward, path, together=True):
                yield _Use(event, backward, wrappers[0][0])


def _cutting(backward: facts.Backward) -> list[facts.Collective]:
    """The collectives that cut a gradient off, or leave it of another size than the loss."""
    found = {part.by for part in backward.made_of if isinstance(part, facts.Distorted)}
    found |= {part for part in backward.made_of if isinstance(part, facts.Collective) and part.name not in REDUCES}
    return sorted(found, key=lambda event: event.index)


def _finding(site: Site, use: _Use) -> Finding:
    event = use.collective
    name = event.name if site == event.site else f"{event.name} at {place(event.site, site)}"
    if event.name in REDUCES:
        harm = (
            "what it gives is then divided by the number of ranks or used nonlinearly, and the gradient is not its own"
        )
        cure = (
            "Reduce a detached copy for the log, and call backward() on the local loss, or use torch.distributed.nn's "
            "all_reduce"
        )
    else:
        harm = "no gradient comes back through what it gathers, the local part included"
        cure = "Put the local tensor back in its place of the gathered list, or use torch.distributed.nn's all_gather"
    details = (name, place(use.backward.site, site), wrapped_at(use.wrapper, site), harm, cure)
    others = [(event.site, "the collective is here"), (use.backward.site, "the backward is here")]
    return finding(SYMBOL, site, details, [*others, wrapped_here(use.wrapper)])


RULE = Rule(
    id="W7117",
    symbol=SYMBOL,
    message=(
        "Autograd does not see %s, and the loss that goes backward at %s (model wrapped at %s) is made of what it "
        "gives: %s. %s"
    ),
    check=check,
)
