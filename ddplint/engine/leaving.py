"""Where a rank leaves the loop that trains, or passes over a backward, by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Case, Fact, Key, meets
from ddplint.engine.meeting import left_out, parted
from ddplint.engine.names import DISTRIBUTED_SAMPLER
from ddplint.engine.placing import function_of
from ddplint.engine.questions import Program
from ddplint.engine.sharing import samplers
from ddplint.engine.values import AGREED, CLOCK, UNSEEN, Lib, Obj, Site

_OF_NUMBERS = re.compile(r"(?:Lt|LtE|Gt|GtE)\(|Eq\(-?\d|.*(?:isnan|isinf|isfinite)")
"""The tests whose answer may differ where numbers do: what a batch looks like is the same on every rank."""
_OF_SHAPES = re.compile(r"len\(|\.shape|\.size\b|\bsize\(|numel|isinstance|\.dim\b|\.ndim")


@dataclass(frozen=True)
class Parting:
    """Where some ranks leave the others alone. ``why``: what decides; ``missed``: the backward they do not come to."""

    site: Site
    event: facts.Event
    why: str
    missed: facts.Backward


def partings(program: Program) -> Iterator[Parting]:
    """Each ``break``, ``continue`` or ``return`` that a rank decides on alone, and each ``if`` around a backward."""
    trains = [
        backward
        for backward in program.trace.of(facts.Backward)
        if program.wrappers_in(backward) and not program.in_parent(backward) and not any(parted(program, backward.path))
    ]
    leaves = list(program.trace.of(facts.Leave))
    for leave in leaves:
        for backward in trains:
            if _shares_loop(leave, backward) and meets(leave.path, program.wrapped):
                if why := _leaves(program, leave, backward, leaves):
                    yield Parting(leave.site, leave, why, backward)
                    break
    for backward in trains:
        for site, why in _passing_over(program, backward):
            if not any(_instead(other, backward, site) for other in trains):
                yield Parting(site, backward, why, backward)


def _shares_loop(leave: facts.Leave, backward: facts.Backward) -> bool:
    """Whether a backward stands in the loop that is left; of a ``return`` from a function, in the one that calls it."""
    loop = leave.loop or (leave.loops[-1] if leave.loops else None)
    return loop is not None and loop in backward.loops


def _leaves(program: Program, leave: facts.Leave, backward: facts.Backward, leaves: list[facts.Leave]) -> str:
    """What decides that some ranks leave the loop of a backward, or go on without it, where others do not."""
    inside = _within(leave, backward)
    behind = inside is not None and inside.line > leave.site.line
    passes = leave.statement == "continue" or leave.loop is None
    if not passes or (behind and not _meets_behind(program, leave)):
        alike = [e.path for e in leaves if e is not leave and (e.loop, e.statement) == (leave.loop, leave.statement)]
        if left_out(program, leave.path, alike):
            return "the rank"
    for key, answer in _facts(leave.path):
        if any((key, answer) in case.facts for case in backward.path):
            continue
        for part in program.trace.grounds.get(key, ()):
            if isinstance(part, facts.Caught) and answer and inside is not None:
                if _in_body(part.tried, inside) and _encloses(part.tried, leave.site):
                    return "an error that one rank may have alone"
        if passes and not behind:
            continue
        if any(_encloses(site, leave.site) for site in program.trace.decided.get(key, ())):
            if why := own_value(program, key):
                return why
    return ""


def _meets_behind(program: Program, leave: facts.Leave) -> bool:
    """Whether a collective of all ranks stands behind a ``continue``."""
    return any(
        event.group is None
        and leave.loop in event.loops
        and (at := _within(leave, event)) is not None
        and at.line > leave.site.line
        for event in program.trace.of(facts.Collective)
    )


def _within(event: facts.Event, other: facts.Event) -> Site | None:
    """Where, in the function in which ``event`` stands, ``other`` or the call that leads to it stands."""
    depth = len(event.chain)
    route = (*other.chain, other.site)
    if len(route) <= depth or route[:depth] != event.chain:
        return None
    return route[depth] if function_of(route[depth]) == function_of(event.site) else None


def _passing_over(program: Program, backward: facts.Backward) -> Iterator[tuple[Site, str]]:
    """Each ``if`` by which a rank decides by itself whether there is a backward, and what it asks."""
    for key, _ in _facts(backward.path):
        for site in program.trace.decided.get(key, ()):
            if any(_encloses(site, step) for step in (*backward.chain, backward.site)):
                if why := own_value(program, key):
                    yield site, why


def _instead(other: facts.Backward, backward: facts.Backward, site: Site) -> bool:
    """Whether another backward stands in the other arm of the ``if`` at ``site``."""
    inside = any(_encloses(site, step) for step in (*other.chain, other.site))
    return inside and not meets(other.path, backward.path)


def own_value(program: Program, key: Key) -> str:
    """What of its own each rank asks in a test, in words; empty where all have the same, or where that is not seen."""
    made_of = program.trace.grounds.get(key, frozenset())
    if key.counts or not made_of.isdisjoint({AGREED, UNSEEN, "framework"}):
        return ""
    if not _OF_NUMBERS.match(key.text) or _OF_SHAPES.search(key.text):
        return ""
    if CLOCK in made_of:
        return "the clock of the rank"
    if any(isinstance(part, facts.Forward) and part.module.kind == "ddp" for part in made_of):
        return "the loss of the rank"
    loaders = [part for part in made_of if isinstance(part, Obj) and part.kind == "loader"]
    trained = {id(training.loader) for training in program.training}
    if loaders and all(id(loader) in trained or _shares_out(loader) for loader in loaders):
        return "the samples of the rank"
    return ""


def _shares_out(loader: Obj) -> bool:
    """Whether each rank surely gets samples of its own."""
    orders = list(samplers(loader, loader.path))
    return bool(orders) and all(
        isinstance(sampler, Obj) and isinstance(sampler.cls, Lib) and sampler.cls.name == DISTRIBUTED_SAMPLER
        for sampler, _ in orders
    )


def _facts(path: Iterable[Case]) -> list[Fact]:
    return sorted({pair for case in path for pair in case.facts}, key=lambda pair: (pair[0].text, pair[1]))


def _encloses(site: Site, other: Site) -> bool:
    """Whether a statement holds a place."""
    node = site.node
    return site.module is other.module and site.line <= other.line <= (getattr(node, "end_lineno", 0) or 0)


def _in_body(site: Site, other: Site) -> bool:
    """Whether the place is in the body of the ``try`` at ``site``."""
    body: list[ast.stmt] = getattr(site.node, "body", [])
    return site.module is other.module and body[0].lineno <= other.line <= (body[-1].end_lineno or 0)
