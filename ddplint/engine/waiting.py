"""Where ranks wait for one another between two things that a program does."""

from __future__ import annotations

from ddplint.engine import facts
from ddplint.engine.conditions import meets
from ddplint.engine.questions import Program

_WAITS = (facts.Collective, facts.Wrap, facts.Join, facts.Spawn, facts.Wait)


def may_wait_between(program: Program, first: facts.Event, last: facts.Event) -> bool:
    """Whether something stands between two events for which ranks wait, or may wait, for one another."""
    ranks = _ranks(first)
    return _pass_one_by_one(program, first, last) or any(
        meets(event.path, last.path) and _waits(program, event) and _ranks(event) & ~ranks
        for event in program.trace.events
        if first.index < event.index < last.index
    )


def _ranks(event: facts.Event) -> int:
    """The ranks on which something may happen."""
    ranks = 0
    for case in event.path:
        ranks |= case.mask
    return ranks


def _pass_one_by_one(program: Program, first: facts.Event, last: facts.Event) -> bool:
    """Whether the other ranks wait before, and those of the first event call them after it."""
    calls = list(program.trace.of(facts.Collective))
    waiting = any(e.index < last.index and meets(e.path, last.path) and not meets(e.path, first.path) for e in calls)
    return waiting and any(e.index > first.index and meets(e.path, first.path) for e in calls)


def _waits(program: Program, event: facts.Event) -> bool:
    if isinstance(event, facts.Forward):
        return event.module.kind == "ddp"  # whose buffers may be sent to all ranks
    if isinstance(event, facts.Backward):
        return bool(program.wrappers_in(event))
    return isinstance(event, _WAITS)
