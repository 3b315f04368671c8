"""ddp-wasted-gradient-sync: every micro-batch reduces gradients where one reduce a step would do."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ddplint.engine import facts
from ddplint.engine.conditions import MERGED_WAITS, Case, Key, Path, exhaust, forgotten, meets
from ddplint.engine.placing import first_of_arms, function_of, where_entered
from ddplint.engine.questions import Program, may_be_plain
from ddplint.engine.rounds import in_each_round
from ddplint.engine.syncing import FLAG
from ddplint.engine.values import Obj, Site
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place, wrapped_at, wrapped_here
from ddplint.rules.wording import name_of, written

SYMBOL = "ddp-wasted-gradient-sync"


@dataclass(eq=False)
class _Accumulation:
    """Several backwards for one step: the loop that repeats them and the step that ends them."""

    backward: facts.Backward
    step: facts.Step
    site: Site
    inner: facts.Loop | None


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Backwards that reduce though the step is yet to come."""
    for program in programs:
        findings: dict[facts.Event, list[Finding]] = {}
        routes: dict[facts.Event, tuple[Site, ...]] = {}
        drifting = {(found.backward.site, found.wrapper) for found in program.unsynchronized}
        drifting |= {(one.site, found.wrapper) for found in program.spent for one in (found.first, found.backward)}
        for backward in program.trace.of(facts.Backward):
            wrappers = program.wrappers_in(backward)
            if not wrappers or not program.on_many_ranks(backward, together=True):
                continue
            found = _accumulation(program, backward)
            if found is None or _is_dropped(program, found, [wrapper for wrapper, _ in wrappers]):
                continue
            wrong = [
                one
                for wrapper, path in wrappers if (backward.site, wrapper) not in drifting
                for one in _judge(program, found, wrapper, path)
            ]  # fmt: skip
            if wrong:
                findings[backward] = wrong
                route = (*backward.chain, backward.site)
                routes[backward] = route[: route.index(found.site) + 1]
        for event in first_of_arms(routes):
            yield from findings[event]


def _judge(program: Program, found: _Accumulation, wrapper: Obj, path: Path) -> Iterator[Finding]:
    backward = found.backward
    forwards = [
        f for f in program.trace.of(facts.Forward)
        if f.module is wrapper and f.grad and meets(f.path, path) and _same_round(f, backward)
    ]  # fmt: skip
    own = [f for f in forwards if f in backward.made_of and f.index < backward.index]
    if not own or any(f.hidden for f in own):
        return
    if found.inner is not None and not any(found.inner in f.loops for f in own):
        return
    if found.inner is not None and _goes_over_wrappers(program, found.inner, own):
        return
    toggles = [t for t in program.trace.of(facts.Toggle) if t.name == FLAG and t.wrapper is wrapper]
    if toggles:
        manager = _around_backward_alone(program, toggles, backward)
        if manager is not None:
            yield _misses(found, manager, own[-1:], wrapper)
        return
    regions = [
        n for n in program.trace.of(facts.NoSync)
        if n.wrapper is wrapper and _same_round(n, backward) and not _without_grad(program, n)
    ]  # fmt: skip
    quiet = [f for f in own if any(thing is wrapper for thing, _ in f.quiet)]
    if not regions:
        if quiet:
            return
        misspelt = [
            t
            for t in program.trace.of(facts.Toggle)
            if t.wrapper is wrapper and "grad_sync" in t.name and t.name != FLAG
        ]
        more = f" ('{misspelt[0].name}' is no attribute that torch reads; it is '{FLAG}')" if misspelt else ""
        details = (
            "Every micro-batch reduces the gradients",
            f"{place(found.step.site, found.site)}{more}",
            wrapped_at(wrapper, found.site),
            _cure(wrapper, own, found.site),
        )
        yield finding(SYMBOL, found.site, details, _evidence(found, wrapper), branch=True)
        return
    for region in regions:
        if not meets(region.path, path):
            continue
        covered = [f for f in own if any(thing is wrapper for thing, _ in f.quiet)]
        twins = {f.site for f in covered}
        missed = [
            f for f in forwards
            if f.index < backward.index and meets(f.path, region.path) and not forgotten(f.path + region.path)
            and not any(thing is wrapper and meets(at, region.path) for thing, at in f.quiet)
            and f.site not in twins
        ]  # fmt: skip
        inside = any(thing is wrapper for thing, _ in backward.quiet)
        if missed and (covered or inside):
            yield _misses(found, where_entered(region, backward), missed, wrapper)
            return


def _is_dropped(program: Program, found: _Accumulation, wrappers: list[Obj]) -> bool:
    """Whether what each micro-batch adds is zeroed in the loop over them, or between that loop and the step."""
    if found.inner is None:
        return False
    backward, step = found.backward, found.step
    things = {*step.optimizer.atoms(), *wrappers}
    for wrapper in wrappers:
        if isinstance(wrap := wrapper.notes.get("wrap"), facts.Wrap):
            things.update(wrap.inner.atoms())
    return any(
        (found.inner in zero.loops or backward.index < zero.index < step.index)
        and zero.loops == backward.loops[: len(zero.loops)]
        and all(any(case.implies(other) for other in zero.path) for case in backward.path)
        for zero in program.trace.of(facts.ZeroGrad)
        if zero.thing in things
    )


def _cure(wrapper: Obj, forwards: list[facts.Forward], site: Site) -> str:
    """The ``with`` statement to write in the function that holds ``site``."""
    here = [f.site for f in forwards if function_of(f.site) == function_of(site)]
    called = here[0].node.func if here and isinstance(here[0].node, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr in ("forward", "__call__"):
        called = called.value
    model = written(called, "model")
    # a model that is not wrapped has no no_sync
    plain = f' or not hasattr({model}, "no_sync")' if may_be_plain(wrapper) else ""
    none = name_of("contextlib.nullcontext", site)
    return f"'with {none}() if last{plain} else {model}.no_sync():'"


def _misses(found: _Accumulation, region: Site, forwards: list[facts.Forward], wrapper: Obj) -> Finding:
    forward = forwards[0].site
    details = (
        f"no_sync() misses the wrapper's forward at {place(forward, region)}, and the forward decides: "
        "every micro-batch reduces the gradients",
        place(found.step.site, region),
        wrapped_at(wrapper, region),
        _cure(wrapper, forwards, region),
    )
    missed = (forward, "the forward that it misses is here")
    return finding(SYMBOL, region, details, [missed, *_evidence(found, wrapper)], branch=True)


def _evidence(found: _Accumulation, wrapper: Obj) -> list[Other]:
    return [(found.step.site, "the optimizer steps here"), wrapped_here(wrapper)]


def _around_backward_alone(program: Program, toggles: list[facts.Toggle], backward: facts.Backward) -> Site | None:
    """Where a context manager of the project is taken that turns the flag off for this backward and for no forward."""
    calls: dict[tuple[Site, ...], list[facts.Toggle]] = {}
    for toggle in toggles:
        calls.setdefault(toggle.chain, []).append(toggle)
    found = None
    for chain, own in calls.items():
        spans = [
            (off.index, on.index) for off, on in pairwise(own)
            if off.value.constant() is False and on.site != off.site
        ]  # fmt: skip
        if not spans:
            return None
        for start, end in spans:
            between = program.trace.events[start:end]
            if any(isinstance(e, facts.Forward) and e.grad and e.module is toggles[0].wrapper for e in between):
                return None
            if backward in between:
                at = 0
                while at < len(chain) - 1 and at < len(backward.chain) and chain[at] == backward.chain[at]:
                    at += 1
                found = chain[at] if len(chain) > len(backward.chain) else None
    return found


def _without_grad(program: Program, region: facts.NoSync) -> bool:
    """Whether all forwards under a ``no_sync`` are of an evaluation."""
    forwards = [
        f for f in program.trace.of(facts.Forward)
        if f.module is region.wrapper and region.index < f.index < region.until
    ]  # fmt: skip
    return bool(forwards) and not any(f.grad for f in forwards)


def _goes_over_wrappers(program: Program, loop: facts.Loop, own: list[facts.Forward]) -> bool:
    """Whether the loop that is innermost around the forwards has a wrapper of its own in each round."""
    return all(
        f.loops[-1] is loop
        and any(
            other.module is not f.module
            and other.module.kind == "ddp"
            and (other.site, other.loops) == (f.site, f.loops)
            for other in program.trace.of(facts.Forward)
        )
        for f in own
    )


def _same_round(event: facts.Event, other: facts.Event) -> bool:
    """Whether both run in the same round of the innermost loop of either."""
    shorter = min(len(event.loops), len(other.loops))
    return event.loops[:shorter] == other.loops[:shorter]


def _accumulation(program: Program, backward: facts.Backward) -> _Accumulation | None:
    if _followed_at_once(program, backward):
        return None
    for step in program.trace.of(facts.Step):
        common = 0
        for a, b in zip(step.loops, backward.loops, strict=False):
            if a is not b:
                break
            common += 1
        if common == 0 and not backward.loops:
            continue
        deeper = [loop for loop in backward.loops[common:] if loop.repeats]
        after = step.index > backward.index and meets(step.path, backward.path)
        if deeper and common and after and _alone(program, step, common):
            return _Accumulation(backward, step, _site_in_common(backward, step, deeper[0].depth), deeper[0])
        if len(backward.loops) == common == len(step.loops) and common and (waits := _waits(step, backward)):
            if not meets(_apart_from(step.path, waits), _apart_from(backward.path, waits)):
                continue
            if all(any(in_each_round(key.text, case.facts) for key in waits) for case in backward.path):
                continue
            # where it is not known any more which test decides, the loop's function stands for the one that asks
            unknown = backward.loops[-1].depth if MERGED_WAITS in waits else None
            asked = max((program.trace.asked[key] for key in waits if key in program.trace.asked), default=unknown)
            return _Accumulation(backward, step, _site_in_common(backward, step, most=asked), None)
    return None


def _alone(program: Program, step: facts.Step, common: int) -> bool:
    """Whether the loops that the step is in beyond the first ``common`` go over optimizers, not over batches."""
    further = step.loops[common:]
    return not further or not any(further[0] in other.loops for other in program.trace.of(facts.Backward))


def _followed_at_once(program: Program, backward: facts.Backward) -> bool:
    """Whether a step comes after each run of this backward, before another backward does."""
    for event in program.trace.events[backward.index + 1 :]:
        if isinstance(event, facts.Backward) and event.site != backward.site:
            return False
        if isinstance(event, facts.Step) and event.loops == backward.loops and not _waits(event, backward):
            return True
    return False


def _waits(step: facts.Step, backward: facts.Backward) -> set[Key]:
    """The tests of a counter that the step, unlike the backward, waits for in each of its cases."""
    found: set[Key] = set()
    for case in step.path:
        counting = {(key, answer) for key, answer in case.facts if key.counts}
        if any(counting <= other.facts for other in backward.path):
            return set()
        near = [other for other in backward.path if not other.excludes(case)] or backward.path
        waits = [
            key for key, answer in counting
            if not all((key, answer) in other.facts for other in near)
            and (key is not MERGED_WAITS or any(other.facts <= case.facts for other in backward.path))
        ]  # fmt: skip
        if not waits:
            return set()
        found.update(waits)
    return set() if exhaust(step.path, found) else found


def _apart_from(path: Path, keys: set[Key]) -> Path:
    return tuple(Case(case.mask, frozenset(pair for pair in case.facts if pair[0] not in keys)) for case in path)


def _site_in_common(backward: facts.Backward, step: facts.Step, least: int = 0, most: int | None = None) -> Site:
    """The backward, or the call that leads to it, in the innermost function that also leads to the step.

    In a function further in, where the loop over micro-batches stands behind ``least`` calls; further out, where the
    step is decided on behind ``most`` calls.
    """
    first, second = (*backward.chain, backward.site), (*step.chain, step.site)
    at = 0
    while at < min(len(first), len(second)) - 1 and first[at] == second[at]:
        at += 1
    at = max(at, least) if most is None else min(at, most)
    return first[min(at, len(first) - 1)]


RULE = Rule(
    id="W7106",
    symbol=SYMBOL,
    message=(
        "%s, though one reduce a step is enough: the optimizer steps at %s, the model is wrapped at %s. "
        "Run the forward and the backward of each micro-batch under %s, where last is true for the one after which "
        "the optimizer steps"
    ),
    check=check,
)
