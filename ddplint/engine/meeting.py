"""Where the ranks meet: which of them come to a call that all have to make, and which do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import EVERY_RANK, NEVER, Case, Path, conjoin, disjoin, forgotten, meets
from ddplint.engine.own import own_facts
from ddplint.engine.questions import Program
from ddplint.engine.values import NONE, TRUE, Obj, Site

Meeting = facts.Collective | facts.Forward | facts.Wrap

_NODE = 0b1111
"""The ranks of the first node, on which a test of the rank and one of the local rank say the same."""


def meetings(program: Program) -> list[Meeting]:
    """The calls that every rank has to make.

    The collectives of all ranks, the constructions of wrappers over all ranks, and the forwards that broadcast buffers.
    """
    return [
        event
        for event in program.trace.events
        if (isinstance(event, facts.Collective) and event.group is None)
        or (isinstance(event, facts.Wrap) and not has_group(event.wrapper))
        or (isinstance(event, facts.Forward) and _broadcasts(event.module))
    ]


def _broadcasts(module: Obj) -> bool:
    """Whether it is a wrapper whose forward broadcasts the buffers of the model to every rank."""
    if module.kind != "ddp" or has_group(module):
        return False
    return bool(module.notes.get("buffers")) and module.notes.get("broadcast_buffers", TRUE).constant() is True


def has_group(wrapper: Obj) -> bool:
    """Whether the gradients of a wrapper are those of a group of its own, or may be."""
    return wrapper.notes.get("process_group", NONE).constant() is not None


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
    if isinstance(event, facts.Wrap):
        return _left_unwrapped(program, event)
    equal = [e for e in meetings if e is not event and _equal(event, e)]
    return left_out(program, event, equal)


def _left_unwrapped(program: Program, wrap: facts.Wrap) -> int:
    """The ranks that join the group and wrap nothing where others wrap."""
    joined = NEVER
    for join in program.trace.of(facts.Join):
        if join.index < wrap.index:
            joined = disjoin(joined, join.path)
    if any(case.unsure for case in joined):
        return 0
    for case in wrap.path:
        wrapping = 0
        for other in program.wraps:
            wrapping |= _those_of(other.path, case)
        if any(key.lone is answer for key, answer in case.facts) or not case.mask & _NODE:
            continue
        if absent := _those_of(joined, case) & ~wrapping & _NODE:
            return absent
    return 0


def left_out(program: Program, event: facts.Event, equal: Sequence[facts.Event]) -> int:
    """The ranks that do not come to ``event`` where others do, and to none of its ``equal`` either; 0 where none is.

    One and the same statement is run again for each thing that a value may be: all that come to it then come.
    """
    for case, absent in parted(program, event.path):
        elsewhere = 0
        for other in equal:
            theirs = _those_of(conjoin(other.path, program.wrapped), case)
            again = other.site == event.site and other.chain == event.chain
            if again and (forgotten(event.path) or forgotten(other.path)):
                for come in other.path:  # when they come can no longer be told, that they do can
                    theirs |= come.mask
            if again or (not theirs & case.mask & _NODE and _is_for(program, other, event, equal, case)):
                elsewhere |= theirs
        if absent & ~elsewhere:
            return absent & ~elsewhere
    return 0


def _is_for(program: Program, other: facts.Event, event: facts.Event, equal: Sequence[facts.Event], case: Case) -> bool:
    """Whether no equal call of the ranks of ``event`` stands nearer to ``other``, which those ranks do not make."""
    theirs = _those_of(conjoin(other.path, program.wrapped), case)
    near = _steps_in_common(other, event)
    return not any(
        _steps_in_common(other, nearer) > near
        and not _those_of(conjoin(nearer.path, program.wrapped), case) & theirs
        and meets(nearer.path, event.path)
        for nearer in equal
        if nearer is not other
    )


def _steps_in_common(left: facts.Event, right: facts.Event) -> int:
    """How many of the calls that lead to two events are the same ones."""
    pairs = zip(left.chain, right.chain, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(left.chain), len(right.chain)))


@dataclass(frozen=True)
class Decided:
    """A test of a rank's own value by which it comes to a meeting or not.

    ``why``: what it asks, in words; ``step``: the step of the meeting's route it leads to; ``test``: where it stands.
    """

    why: str
    step: Site
    test: Site


def decided_alone(program: Program, event: Meeting, meetings: Sequence[Meeting]) -> Decided | None:
    """The test by which each rank decides for itself whether it comes; None where there is none, or all meet anyhow."""
    if program.in_parent(event) or not meets(event.path, program.wrapped):
        return None
    asked = list(own_facts(program, event))
    for case, _, why, step, test in asked:
        # a name that holds several things is asked about in several ways at once
        said = {pair for _, pair, _, _, where in asked if where == test}
        alike = {pair for pair in case.facts if not pair[0].per_rank} - said
        others = Case(EVERY_RANK, frozenset(alike | {(key, not answer) for key, answer in said}))
        if any(not others.excludes(other) for other in event.path):
            continue
        instead = [e.path for e in meetings if e.site != event.site and _equal(event, e)]
        if not any(meets(path, (others,)) and not meets(path, (case,)) for path in instead):
            return Decided(why, step, test)
    return None


def _equal(left: Meeting, right: Meeting) -> bool:
    """Whether one rank may make one of the calls while another makes the other."""
    if isinstance(left, facts.Collective):
        return isinstance(right, facts.Collective) and left.name == right.name
    if isinstance(left, facts.Wrap):
        return isinstance(right, facts.Wrap)
    return isinstance(right, facts.Forward) and left.module is right.module


def sends_buffers(program: Program, forward: facts.Forward) -> bool:
    """Whether a forward of some ranks broadcasts the buffers: behind a forward under ``no_grad`` of all, none does."""
    if forward.grad and not forward.hidden:
        return True
    before = [
        event
        for event in program.trace.events[: forward.index]
        if isinstance(event, facts.Forward)
        and event.module is forward.module
        and event.site != forward.site
        and meets(event.path, forward.path)
    ]
    return not before or before[-1].grad or any(parted(program, before[-1].path))


def before_next_forward(program: Program, forward: facts.Forward) -> facts.Event | None:
    """The collective of all ranks that follows a forward of some; itself where training ends; None: a forward does.

    The buffers that some ranks send (under ``no_grad``, once) are those that the others wait for in the next forward.
    A forward that records gradients sends them in each round, and once more in the next.
    """
    if forward.grad and not forward.hidden:
        return forward
    same = [event for event in program.trace.of(facts.Forward) if event.module is forward.module]
    last = [event for event in same if event.site == forward.site and event.chain == forward.chain][-1]
    for event in program.trace.events[last.index + 1 :]:
        together = (isinstance(event, facts.Collective) and event.group is None) or event in same
        if together and meets(event.path, last.path) and not any(parted(program, event.path)):
            return event if isinstance(event, facts.Collective) else None
    again = any(loop.repeats and loop in event.loops for event in same if event.grad for loop in last.loops)
    return None if again else forward
