"""Which tests ask what is a rank's own: its loss, its samples, its clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddplint.engine import facts
from ddplint.engine.conditions import Case, Fact, Key
from ddplint.engine.names import DISTRIBUTED_SAMPLER
from ddplint.engine.placing import encloses, within
from ddplint.engine.questions import Program
from ddplint.engine.sharing import samplers
from ddplint.engine.values import AGREED, CLOCK, HANDLED, PICKED, UNSEEN, Lib, Obj, Site

_OF_NUMBERS = re.compile(r"(?:Lt|LtE|Gt|GtE)\(|Eq\(-?\d|.*(?:isnan|isinf|isfinite|elementwise\()")
"""The tests whose answer may differ where numbers do: what a batch looks like is the same on every rank."""
_OF_SHAPES = re.compile(r"\.shape|\.size\b|\bsize\(|numel|isinstance|\.dim\b|\.ndim")

_HOW_MANY = re.compile(r"numel\(|\blen\(|\.shape, 0\)|\.size\([^()]*0\)")
"""The sizes of what is picked by its numbers that differ where the numbers do."""


def own_value(program: Program, key: Key) -> str:
    """What of its own each rank asks in a test, in words; empty where all have the same, or where that is not seen."""
    made_of = program.trace.grounds.get(key, frozenset())
    if not made_of.isdisjoint({AGREED, HANDLED, "framework"}):
        return ""
    if not _OF_NUMBERS.match(key.text):
        return ""
    if _OF_SHAPES.search(key.text) and not (PICKED in made_of and _HOW_MANY.search(key.text)):
        return ""
    if CLOCK in made_of and UNSEEN not in made_of:
        return "the clock of the rank"
    given = (part.by if isinstance(part, facts.Compared) else part for part in made_of)
    forwards = [part for part in given if isinstance(part, facts.Forward) and part.module.kind == "ddp"]
    loaders = [part for part in made_of if isinstance(part, Obj) and part.kind == "loader"]
    trained = {id(training.loader) for training in program.training}
    if not all(id(loader) in trained or _shares_out(loader) for loader in loaders):
        return ""
    if UNSEEN in made_of:  # what comes from elsewhere, beside the loss, does not make it that of all
        return "the loss of the rank" if any(forward.grad for forward in forwards) else ""
    if forwards and (loaders or any(forward.grad for forward in forwards)):
        return "the loss of the rank"
    return "the samples of the rank" if loaders else ""


def _shares_out(loader: Obj) -> bool:
    """Whether each rank surely gets samples of its own."""
    orders = list(samplers(loader, loader.path))
    return bool(orders) and all(
        isinstance(sampler, Obj) and isinstance(sampler.cls, Lib) and sampler.cls.name == DISTRIBUTED_SAMPLER
        for sampler, _ in orders
    )


def own_facts(program: Program, event: facts.Event) -> Iterator[tuple[Case, Fact, str, Site, Site]]:
    """What of its own a rank asked before it came to an event.

    Each with the case, the words for it, the step of the event's route that the answer leads to, and where it decides.
    An answer that no ``if`` around the event gives, and no ``continue`` or ``return`` above it, decides nothing: the
    other ranks then ended with an error.
    """
    for case in event.path if event.index not in program.trace.uneven else ():
        for key, answer in sorted(case.facts, key=lambda pair: (pair[0].text, pair[1])):
            if why := own_value(program, key):
                place = _deciding(program, event, key, answer)
                if place is not None:
                    yield case, (key, answer), why, *place


def _deciding(program: Program, event: facts.Event, key: Key, answer: bool) -> tuple[Site, Site] | None:
    """The step of an event's route that a test decides on, and the statement by which it does."""
    for step in (*event.chain, event.site):
        for test in program.trace.decided.get(key, ()):
            if encloses(test, step):
                return step, test
    for leave in program.trace.of(facts.Leave):
        if leave.statement != "continue" and any(leave.loop in one.loops for one in program.trace.of(facts.Backward)):
            continue  # who leaves a loop that trains misses more than this
        left = (key, not answer)
        if leave.index < event.index and (left in leave.asked or any(left in case.facts for case in leave.path)):
            behind = within(leave, event)
            if behind is None or behind.line <= leave.site.line:
                continue
            if (leave.loop is None or leave.loop in event.loops) and passed_over(leave, event, (key, answer)):
                return behind, leave.site
    return None


def passed_over(leave: facts.Leave, event: facts.Event, going_on: Fact) -> bool:
    """Whether who leaves surely misses an event of those who go on: none that happens in some rounds only."""
    known = {pair for case in leave.path for pair in case.facts}
    return any(going_on in case.facts and not any(pair[0].counts for pair in case.facts - known) for case in event.path)
