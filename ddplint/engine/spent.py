"""Which backwards find the reduction spent that their forward prepared: an earlier backward had it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Path, forgotten, meets
from ddplint.engine.placing import in_two_arms, under_a_test_alone
from ddplint.engine.syncing import FLAG, covers, reduced_by_hand, updates
from ddplint.engine.values import Obj


@dataclass(eq=False)
class Spent:
    """A step on what ``backward`` gave, after ``first`` ended the reduction that ``forward`` had prepared.

    ``first`` is the same event where a loop repeats the backward and not the forward.
    """

    wrapper: Obj
    forward: facts.Forward
    first: facts.Backward
    backward: facts.Backward
    step: facts.Step
    path: Path


def spent(trace: facts.Trace, wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]]) -> Iterator[Spent]:
    """Each backward with no forward of the wrapper since an earlier backward through it."""
    backwards = list(trace.of(facts.Backward))
    through = {backward: wrappers_in(backward) for backward in backwards}
    alone = len({id(wrapper) for trained in through.values() for wrapper, _ in trained}) == 1
    by_hand: dict[int, bool] = {}
    for backward in backwards:
        for wrapper, path in through[backward]:
            if not wrapper.notes.get("outputs share") or _is_partial(backward):
                continue
            pair = _earlier(trace, through, backward, wrapper, path)
            if pair is None or by_hand.setdefault(id(wrapper), _is_handled(trace, wrapper)):
                continue
            step = _step(trace, backward, wrapper, alone)
            if step is not None:
                yield Spent(wrapper, pair[0], pair[1], backward, step, path)


def _is_handled(trace: facts.Trace, wrapper: Obj) -> bool:
    """Whether the program sees to the reductions of a wrapper in another way, or decides which forwards prepare one."""
    if any(toggle.name == FLAG and toggle.wrapper is wrapper for toggle in trace.of(facts.Toggle)):
        return True
    return reduced_by_hand(trace, wrapper)


def _earlier(
    trace: facts.Trace,
    through: dict[facts.Backward, list[tuple[Obj, Path]]],
    backward: facts.Backward,
    wrapper: Obj,
    path: Path,
) -> tuple[facts.Forward, facts.Backward] | None:
    """The last forward that prepared, and the backward that used it up, where both surely came."""
    own = [part for part in backward.made_of if isinstance(part, facts.Forward) and part.module is wrapper]
    if not own or any(f.hidden or not f.grad or any(thing is wrapper for thing, _ in f.quiet) for f in own):
        return None
    first: facts.Backward | None = _repeated(trace, backward, own)
    for event in reversed(trace.events[: backward.index]):
        if isinstance(event, facts.Forward) and event.module is wrapper and event.grad and meets(event.path, path):
            if first is None or not _is_sure(event, event.path, backward, path):
                return None
            parts = first.made_of | backward.made_of
            if any(part.index > event.index for part in own) or event not in parts:
                return None
            theirs = [part for part in parts if isinstance(part, facts.Forward) and part.module is wrapper]
            return (event, first) if all(_are_alike(event, other) for other in theirs) else None
        if not isinstance(event, facts.Backward) or first is not None:
            continue
        if (event.site, event.chain) == (backward.site, backward.chain):
            continue  # the same call, of another thing that the loss may be
        at = next((at for one, at in through[event] if one is wrapper), ())
        if not at or not meets(at, path):
            continue
        sure = _is_sure(event, at, backward, path) and event.loops == backward.loops[: len(event.loops)]
        if not sure or _is_partial(event) or _in_handler(event, backward) or in_two_arms(event.site, backward.site):
            return None
        first = event
    return None


def _is_sure(event: facts.Event, at: Path, backward: facts.Backward, path: Path) -> bool:
    """Whether the event came wherever the backward does; of cases that were joined, where no test stands between."""
    if not forgotten(at + path):
        return event.path == backward.path or covers(at, path)
    return event.path == backward.path and not under_a_test_alone(event, backward)


def _repeated(trace: facts.Trace, backward: facts.Backward, own: list[facts.Forward]) -> facts.Backward | None:
    """The backward itself, where a loop goes round it and round no forward that it is of."""
    further_in = {loop for loop in backward.loops if loop.repeats}
    for forward in own:
        if forward.loops != backward.loops[: len(forward.loops)]:
            return None
        further_in &= set(backward.loops[len(forward.loops) :])
    module = own[0].module
    again = [
        loop for loop in further_in
        if not any(isinstance(e, facts.Forward) and e.module is module and loop in e.loops for e in trace.events)
    ]  # fmt: skip
    return backward if again else None


def _is_partial(backward: facts.Backward) -> bool:
    """Whether the gradients of some tensors alone are asked for: hooks of others are not called."""
    node = backward.site.node
    return isinstance(node, ast.Call) and any(keyword.arg in ("inputs", None) for keyword in node.keywords)


def _in_handler(first: facts.Backward, second: facts.Backward) -> bool:
    """Whether the second is made where the first failed."""
    if first.site.module is not second.site.module:
        return False
    return any(
        isinstance(node, ast.Try)
        and any(part is first.site.node for statement in node.body for part in ast.walk(statement))
        and any(part is second.site.node for handler in node.handlers for part in ast.walk(handler))
        for node in ast.walk(first.site.module.tree)
    )


def _are_alike(left: facts.Forward, right: facts.Forward) -> bool:
    """Whether two calls ask the network for the same: literals, which may choose a part of it, do not differ."""
    return left is right or _form(left.site.node) == _form(right.site.node)


def _form(node: ast.AST) -> tuple[object, ...]:
    if not isinstance(node, ast.Call):
        return (node,)
    given = [(None, value) for value in node.args] + [(keyword.arg, keyword.value) for keyword in node.keywords]
    return tuple((name, value.value if isinstance(value, ast.Constant) else type(value) is ast.Starred)
                 for name, value in given)  # fmt: skip


def _step(trace: facts.Trace, backward: facts.Backward, wrapper: Obj, alone: bool) -> facts.Step | None:
    """The step of the wrapper's optimizer, where no forward of the wrapper comes before it."""
    for event in trace.events[backward.index + 1 :]:
        if isinstance(event, facts.Forward) and event.module is wrapper and event.grad:
            if meets(event.path, backward.path):
                return None
        elif isinstance(event, facts.Step) and updates(event, wrapper, alone):
            if meets(event.path, backward.path):
                shorter = min(len(event.loops), len(backward.loops))
                return event if event.loops[:shorter] == backward.loops[:shorter] else None
    return None
