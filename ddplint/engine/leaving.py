"""Where a rank leaves the loop that trains, or passes over a backward, by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Fact, Key, is_single, meets
from ddplint.engine.meeting import has_group, left_out, meetings, parted, ranks_left_out
from ddplint.engine.own import own_value, passed_over
from ddplint.engine.placing import encloses, within
from ddplint.engine.questions import Program
from ddplint.engine.values import AGREED, Site


@dataclass(frozen=True)
class Parting:
    """Where some ranks leave the others alone. ``why``: what decides; ``missed``: the backward they do not come to."""

    site: Site
    event: facts.Event
    why: str
    missed: facts.Backward


def partings(program: Program) -> Iterator[Parting]:
    """Each ``break``, ``continue`` or ``return`` that a rank decides on alone, and each ``if`` around a backward."""
    together = [
        backward
        for backward in program.trace.of(facts.Backward)
        if backward.index not in program.trace.uneven
        and any(not has_group(wrapper) for wrapper, _ in program.wrappers_in(backward))
        and not program.in_parent(backward)
    ]
    trains = [backward for backward in together if not any(parted(program, backward.path))]
    leaves = list(program.trace.of(facts.Leave))
    for backward in together:
        if left_out(program, backward, [other for other in together if other is not backward]):
            around = [test for test in program.trace.parting if _around(test, backward)]
            if around and not _quiet(backward) and not _meets_in(program, around[0]):
                yield Parting(around[0], backward, "the rank", backward)
    told: dict[Key, Site] = {}
    for leave in leaves:
        for backward in trains:
            if _shares_loop(leave, backward) and meets(leave.path, program.wrapped):
                if found := _leaves(program, leave, backward, leaves):
                    why, key = found
                    # a flag that one statement leaves with is asked again outside of its loop
                    if key is None or told.setdefault(key, leave.site) == leave.site:
                        yield Parting(leave.site, leave, why, backward)
                    break
    for backward in trains:
        for site, why in _passing_over(program, backward):
            if not any(_instead(other, backward, site) for other in trains):
                yield Parting(site, backward, why, backward)


def _around(test: Site, event: facts.Event) -> bool:
    """Whether something happens, or is called, inside an ``if``."""
    return any(encloses(test, step) for step in (*event.chain, event.site))


def _meets_in(program: Program, test: Site) -> bool:
    """Whether another call that every rank has to make stands in an ``if`` that parts them."""
    together = meetings(program)
    return any(_around(test, event) and ranks_left_out(program, event, together) for event in together)


def _quiet(backward: facts.Backward) -> bool:
    """Whether no gradient is reduced: the forwards were made under ``no_sync``."""
    return any(forward.quiet or forward.hidden for forward in _forwards(backward))


def _forwards(backward: facts.Backward) -> list[facts.Forward]:
    """The forwards of wrappers that had a part in what is back-propagated."""
    found = [part for part in backward.made_of if isinstance(part, facts.Forward) and part.module.kind == "ddp"]
    return sorted(found, key=lambda forward: forward.index)


def _shares_loop(leave: facts.Leave, backward: facts.Backward) -> bool:
    """Whether a backward stands in a loop that is left; of a ``return`` from a function, in the one that calls it."""
    if leave.statement == "return" and leave.loop is not None:
        left = [loop for loop in leave.loops if loop.depth == len(leave.chain)]
        return any(loop in backward.loops for loop in left)
    loop = leave.loop or (leave.loops[-1] if leave.loops else None)
    return loop is not None and loop in backward.loops


def _leaves(
    program: Program, leave: facts.Leave, backward: facts.Backward, leaves: list[facts.Leave]
) -> tuple[str, Key | None] | None:
    """What decides that some ranks leave the loop of a backward, or go on without it, where others do not.

    In words, and as the test of a rank's own value where it is one.
    """
    inside = within(leave, backward)
    behind = inside is not None and inside.line > leave.site.line
    passes = leave.statement == "continue" or leave.loop is None
    if not passes or (behind and not _meets_behind(program, leave)):
        alike = [e for e in leaves if e is not leave and (e.loop, e.statement) == (leave.loop, leave.statement)]
        if left_out(program, leave, alike):
            return "the rank", None
    for key, answer in _facts(leave):
        if (key, answer) in backward.asked or any((key, answer) in case.facts for case in backward.path):
            continue
        if _told_the_others(program, leave, (key, answer)):
            continue
        for part in program.trace.grounds.get(key, ()):
            if isinstance(part, facts.Caught) and answer and inside is not None:
                tried = [inside, *(within(leave, forward) for forward in _forwards(backward) if forward.grad)]
                if any(_in_body(part.tried, step) for step in tried) and encloses(part.tried, leave.site):
                    return "an error that one rank may have alone", None
        if passes and (not behind or _meets_behind(program, leave, key, not answer)):
            continue
        tests = program.trace.decided.get(key, ())
        around = leave.statement == "while" or any(encloses(test, leave.site) for test in tests)
        if around or _is_what_is_left(leave, backward, leaves, tests):
            if why := own_value(program, key):
                return why, key
    return None


def _is_what_is_left(
    leave: facts.Leave, backward: facts.Backward, leaves: list[facts.Leave], tests: Sequence[Site]
) -> bool:
    """Whether a ``continue`` above, which one of the tests decides on, keeps the other ranks from leaving as well.

    One above the backward is a matter of its own.
    """
    return any(
        other.statement == "continue"
        and other.loop is leave.loop
        and other.chain == leave.chain
        and other.site.line < leave.site.line
        and any(encloses(test, other.site) for test in tests)
        and (at := within(other, backward)) is not None
        and at.line < other.site.line
        for other in leaves
    )


def _told_the_others(program: Program, leave: facts.Leave, answered: Fact) -> bool:
    """Whether one rank alone answers a test so, and the others leave by what the ranks have put together."""
    own = [case for case in leave.path if answered in case.facts]
    others = [case for case in leave.path if answered not in case.facts]
    if not own or not all(is_single(case.mask) for case in own):
        return False
    asked = (key for case in others for key, _ in case.facts)
    return any(AGREED in program.trace.grounds.get(key, ()) for key in asked)


def _meets_behind(program: Program, leave: facts.Leave, key: Key | None = None, answer: bool = False) -> bool:
    """Whether a collective of all ranks stands behind a ``continue`` or ``return``.

    ``key``: one that is made for this ``answer`` to a test.
    """
    return any(
        event.group is None
        and (leave.loop is None or leave.loop in event.loops)
        and (at := within(leave, event)) is not None
        and at.line > leave.site.line
        and (key is None or passed_over(leave, event, (key, answer)))
        for event in program.trace.of(facts.Collective)
    )


def _passing_over(program: Program, backward: facts.Backward) -> Iterator[tuple[Site, str]]:
    """Each ``if`` by which a rank decides by itself whether there is a backward, and what it asks."""
    for key, _ in _facts(backward):
        for site in program.trace.decided.get(key, ()):
            if any(encloses(site, step) for step in (*backward.chain, backward.site)):
                if why := own_value(program, key):
                    yield site, why


def _instead(other: facts.Backward, backward: facts.Backward, site: Site) -> bool:
    """Whether another backward stands in the other arm of the ``if`` at ``site``."""
    inside = any(encloses(site, step) for step in (*other.chain, other.site))
    denied = any((key, not answer) in other.asked for key, answer in backward.asked)
    return inside and (denied or not meets(other.path, backward.path))


def _facts(event: facts.Event) -> list[Fact]:
    held = {pair for case in event.path for pair in case.facts} | event.asked
    return sorted(held, key=lambda pair: (pair[0].text, pair[1]))


def _in_body(site: Site, other: Site | None) -> bool:
    """Whether the place is in the body of the ``try`` at ``site``."""
    body: list[ast.stmt] = getattr(site.node, "body", [])
    return (
        other is not None and site.module is other.module and body[0].lineno <= other.line <= (body[-1].end_lineno or 0)
    )
