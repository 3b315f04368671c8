"""Where ranks wait for one another between two things that a program does."""

from __future__ import annotations

from ddplint.engine import facts
from ddplint.engine.conditions import meets
from ddplint.engine.questions import Program

_WAITS = (facts.Collective, facts.Wrap, facts.Join, facts.Spawn, facts.Wait)


def may_wait_between(program: Program, first: facts.Event, last: facts.Event) -> bool:
    """Whether something stands between two events for which ranks wait, or may wait, for one another."""
    return any(
        meets(event.path, last.path) and _waits(program, event)
        for event in program.trace.events
        if first.index < event.index < last.index
    )


def _waits(program: Program, event: facts.Event) -> bool:
    if isinstance(event, facts.Forward):
        return event.module.kind == "ddp"  # whose buffers may be sent to all ranks
    if isinstance(event, facts.Backward):
        return bool(program.wrappers_in(event))
    return isinstance(event, _WAITS)
