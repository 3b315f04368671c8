"""Which backwards train a wrapped network past its wrapper, so that no gradient is reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Path, conjoin, forgotten, meets
from ddplint.engine.syncing import reduced_by_hand, updates
from ddplint.engine.values import Obj, Site


@dataclass(eq=False)
class Bypassed:
    """A loss that a network gave without its wrapper, up to the step on what it was differentiated to."""

    wrap: facts.Wrap
    call: facts.Forward
    backward: facts.Backward
    step: facts.Step
    path: Path

    @property
    def holder(self) -> Site | None:
        """The call of an object that holds the network, where the backward is run outside of that call."""
        return next((site for site in self.call.held if site not in self.backward.chain), None)


def bypassed(trace: facts.Trace, wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]]) -> Iterator[Bypassed]:
    """Each backward of a loss from a wrapped network's own call, where no forward of the wrapper prepared for it."""
    wraps = list(trace.of(facts.Wrap))
    for backward in trace.of(facts.Backward):
        calls = sorted(
            (part for part in backward.made_of if isinstance(part, facts.Forward) and part.module.kind == "module"),
            key=lambda call: call.index,
        )
        for wrap in wraps if calls else ():
            inner = {*wrap.inner.atoms(), wrap.wrapper.notes.get("inside")}
            past = [call for call in calls if call.grad and not call.hidden and call.module in inner]
            for call in past:
                path = conjoin(conjoin(backward.path, call.path), wrap.path)
                if call.index < wrap.index or not path:
                    continue
                if forgotten(path) and _is_called(trace, wrap.wrapper):
                    continue  # the call may be of the cases without the wrapper
                if call.module not in wrap.inner.atoms() and _is_given_away(trace, wrap.wrapper, backward):
                    continue  # code out of sight may call the wrapper
                if _prepared(trace, wrappers_in, wrap.wrapper, backward, path) or reduced_by_hand(trace, wrap.wrapper):
                    continue
                others = [other for other in wraps if other is not wrap and meets(other.path, path)]
                alone = not any(_has_part(other, backward) for other in others)
                step = _step(trace, wrappers_in, wrap.wrapper, backward, alone)
                if step is not None:
                    yield Bypassed(wrap, call, backward, step, path)
                    break


def _has_part(wrap: facts.Wrap, backward: facts.Backward) -> bool:
    """Whether a wrapper or the network inside had a part in what is back-propagated."""
    things = {wrap.wrapper, *wrap.inner.atoms(), wrap.wrapper.notes.get("inside")}
    return any(
        part in things or (isinstance(part, facts.Forward) and part.module in things) for part in backward.made_of
    )


def _is_given_away(trace: facts.Trace, wrapper: Obj, backward: facts.Backward) -> bool:
    """Whether code out of sight is given a wrapper where the backward is repeated."""
    return any(
        event.thing is wrapper and event.loops[: len(backward.loops)] == backward.loops and event.site != backward.site
        for event in trace.events[: backward.index]
        if isinstance(event, facts.Escape)
    )


def _is_called(trace: facts.Trace, wrapper: Obj) -> bool:
    """Whether a forward of the wrapper is trained with anywhere."""
    return any(forward.module is wrapper and forward.grad for forward in trace.of(facts.Forward))


def _prepared(
    trace: facts.Trace,
    wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]],
    wrapper: Obj,
    backward: facts.Backward,
    path: Path,
) -> bool:
    """Whether a forward of the wrapper came since the last backward through it, in the cases of ``path``."""
    for event in reversed(trace.events[: backward.index]):
        if isinstance(event, facts.Forward) and event.module is wrapper and event.grad and meets(event.path, path):
            return True
        if isinstance(event, facts.Backward) and any(
            one is wrapper and meets(at, path) for one, at in wrappers_in(event)
        ):
            return False
    return any(one is wrapper and meets(at, path) for one, at in wrappers_in(backward))


def _step(
    trace: facts.Trace,
    wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]],
    wrapper: Obj,
    backward: facts.Backward,
    alone: bool,
) -> facts.Step | None:
    """The step of the wrapper's optimizer on what this backward gave."""
    for event in trace.events[backward.index + 1 :]:
        if isinstance(event, facts.Backward) and meets(event.path, backward.path):
            if any(one is wrapper for one, _ in wrappers_in(event)):
                return None
        if isinstance(event, facts.Step) and updates(event, wrapper, alone) and meets(event.path, backward.path):
            shorter = min(len(event.loops), len(backward.loops))
            return event if event.loops[:shorter] == backward.loops[:shorter] else None
    return None
