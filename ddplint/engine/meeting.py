"""Where the ranks meet: which of them come to a call that all have to make, and which do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import EVERY_RANK, Case, Path, conjoin, meets
from ddplint.engine.questions import Program
from ddplint.engine.values import NONE, TRUE, Obj

Meeting = facts.Collective | facts.Forward

_NODE = 0b1111
"""The ranks of the first node, on which a test of the rank and one of the local rank say the same."""


def meetings(program: Program) -> list[Meeting]:
    """The calls that every rank has to make: the collectives of all ranks, and the forwards that broadcast buffers."""
    return [
        event
        for event in program.trace.events
        if (isinstance(event, facts.Collective) and event.group is None)
        or (isinstance(event, facts.Forward) and _broadcasts(event.module))
    ]


def _broadcasts(module: Obj) -> bool:
    """Whether it is a wrapper whose forward broadcasts the buffers of the model to every rank."""
    if module.kind != "ddp" or module.notes.get("process_group", NONE).constant() is not None:
        return False
    return bool(module.notes.get("buffers")) and module.notes.get("broadcast_buffers", TRUE).constant() is True


def parted(program: Program, path: Path) -> Iterator[tuple[Case, int]]:
    """The cases of ``path`` in which some ranks of a node come and others surely do not, with those that do not."""
    path = conjoin(path, program.wrapped)
    for case in path:
        if any(key.lone is answer for key, answer in case.facts) or not case.mask & _NODE:
            continue
        absent = _those_of(program.wrapped, case) & ~_those_of(path, case) & _NODE
        if absent:
            yield case, absent


def _those_of(path: Path, case: Case) -> int:
    """The ranks that may be on ``path`` where the facts of ``case`` hold that are the same on every rank."""
    asked = Case(EVERY_RANK, frozenset(pair for pair in case.facts if not pair[0].per_rank))
    ranks = 0
    for other in path:
        if not asked.excludes(other):
            ranks |= other.mask
    return ranks


def ranks_left_out(program: Program, event: Meeting, meetings: Sequence[Meeting]) -> int:
    """The ranks that do not come to one of the ``meetings`` and come to no equal one elsewhere; 0 where none is."""
    if program.in_parent(event):
        return 0
    return left_out(program, event.path, [e.path for e in meetings if e is not event and _equal(event, e)])


def left_out(program: Program, path: Path, instead: Sequence[Path]) -> int:
    """The ranks that do not come to ``path`` where others do, and to none of ``instead`` either; 0 where none is."""
    for case, absent in parted(program, path):
        elsewhere = 0
        for other in instead:
            theirs = _those_of(conjoin(other, program.wrapped), case)
            elsewhere |= theirs if not theirs & case.mask & _NODE else 0
        if absent & ~elsewhere:
            return absent & ~elsewhere
    return 0


def _equal(left: Meeting, right: Meeting) -> bool:
    """Whether one rank may make one of the calls while another makes the other."""
    if isinstance(left, facts.Collective):
        return isinstance(right, facts.Collective) and left.name == right.name
    return isinstance(right, facts.Forward) and left.module is right.module


def before_next_forward(program: Program, forward: facts.Forward) -> facts.Event | None:
    """The collective of all ranks that follows a forward of some; itself where training ends; None: a forward does.

    The buffers that some ranks send (under ``no_grad``, once) are those that the others wait for in the next forward.
    """
    same = [event for event in program.trace.of(facts.Forward) if event.module is forward.module]
    last = [event for event in same if event.site == forward.site and event.chain == forward.chain][-1]
    for event in program.trace.events[last.index + 1 :]:
        together = (isinstance(event, facts.Collective) and event.group is None) or event in same
        if together and meets(event.path, last.path) and not any(parted(program, event.path)):
            return event if isinstance(event, facts.Collective) else None
    again = any(loop.repeats and loop in event.loops for event in same if event.grad for loop in last.loops)
    return None if again else forward
