"""Which optimizer steps follow a backward that reduced nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import ALWAYS, NEVER, Case, Fact, Path, conjoin, disjoin, forgotten, meets
from ddplint.engine.library.making import holds
from ddplint.engine.placing import starts_anew, under_a_test
from ddplint.engine.rounds import Trial, calculable, counters_in, is_fixed
from ddplint.engine.values import Const, Obj, Sym, Value

FLAG = "require_backward_grad_sync"
"""The attribute of a wrapper that decides whether a forward prepares a reduction."""
_FIXED = ("option ", "default ")
"""How the text of a test begins whose answer is the same in every round."""


@dataclass(eq=False)
class Unsynchronized:
    """A step on gradients that no rank has of another: ``cause`` is why the forward prepared no reduction."""

    wrapper: Obj
    forward: facts.Forward
    backward: facts.Backward
    step: facts.Step
    cause: facts.Toggle | facts.NoSync
    path: Path
    late: bool
    """Whether the flag is set after the forward."""


@dataclass(eq=False)
class _Quiet:
    """A forward prepares no reduction in the cases of ``path``, of which those of ``flag`` held ``back`` rounds ago.

    ``always``: the flag is turned off before the forward whatever the tests answer.
    """

    path: Path
    flag: Path
    back: int
    cause: facts.Toggle | facts.NoSync
    always: bool = False


def unsynchronized(
    trace: facts.Trace, wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]]
) -> list[Unsynchronized]:
    """Each backward whose gradients the optimizer steps on though they were surely not reduced."""
    if not any(isinstance(event, facts.NoSync | facts.Toggle) for event in trace.events):
        return []
    return list(_Search(trace, wrappers_in).all())


class _Search:
    def __init__(self, trace: facts.Trace, wrappers_in: Callable[[facts.Backward], list[tuple[Obj, Path]]]) -> None:
        self._trace = trace
        self._wrappers_in = wrappers_in
        self._trained = {
            backward: {id(wrapper) for wrapper, _ in wrappers_in(backward)} for backward in trace.of(facts.Backward)
        }
        self._first: dict[tuple[object, ...], int] = {}
        for event in trace.events:
            self._first.setdefault((type(event), event.site, event.chain, event.loops), event.index)

    def all(self) -> Iterator[Unsynchronized]:
        by_hand: dict[int, bool] = {}
        for backward in self._trained:
            for wrapper, path in self._wrappers_in(backward):
                if by_hand.setdefault(id(wrapper), reduced_by_hand(self._trace, wrapper)):
                    continue
                quiet = self._quiet(backward, wrapper, path)
                for step in self._steps_after(backward, wrapper) if quiet else ():
                    for forward, one in quiet:
                        if not self._is_sure(one, backward):
                            continue
                        if case := self._evidence(backward, step, forward, one):
                            late = one.back > 0
                            yield Unsynchronized(wrapper, forward, backward, step, one.cause, (case,), late)

    def _is_sure(self, quiet: _Quiet, backward: facts.Backward) -> bool:
        """Whether it holds in each round where no test was seen: what the first round tells of a counter may not."""
        asked = [pair for case in conjoin(quiet.path, quiet.flag) for pair in case.facts - _given(backward, case)]
        if quiet.always or any(key.counts for key, _ in asked) or (asked and all(map(is_fixed, asked))):
            return True
        if isinstance(quiet.cause, facts.Toggle):
            toggles = [t for t in self._trace.of(facts.Toggle) if t.name == FLAG and t.wrapper is quiet.cause.wrapper]
            return all(t.value.constant() is False for t in toggles)
        return not under_a_test((*quiet.cause.chain[len(backward.chain) :], quiet.cause.site))

    # ------------------------------------------------------------ the forward

    def _quiet(self, backward: facts.Backward, wrapper: Obj, path: Path) -> list[tuple[facts.Forward, _Quiet]]:
        """Each forward that the backward is of, with the cases in which nothing since the last one was prepared."""
        before = max(
            (b.index for b, trained in self._trained.items() if b.index < backward.index and id(wrapper) in trained),
            default=-1,
        )
        forwards = [
            event
            for event in self._trace.events[: backward.index]
            if isinstance(event, facts.Forward) and event.module is wrapper and event.grad and meets(event.path, path)
        ]
        own = [f for f in forwards if f in backward.made_of]
        recent = [f for f in forwards if f in own or f.index > before]
        if not own or any(f.hidden for f in own):
            return []
        found = {}
        for forward in recent:
            quiet = self._unprepared(forward, wrapper)
            if quiet is None:
                return []
            found[forward] = quiet
        result = []
        for forward in own:
            for one in found[forward]:
                whole = conjoin(conjoin(one.path, one.flag) if not one.back else one.path, path)
                others = [other for other in recent if other is not forward and meets(other.path, whole)]
                if whole and not any(
                    other.loops == forward.loops and not any(meets(q.path, whole) for q in found[other])
                    for other in others
                ):
                    result.append((forward, one))
        return result

    def _unprepared(self, forward: facts.Forward, wrapper: Obj) -> list[_Quiet] | None:
        """The cases in which the forward prepares nothing; None where that cannot be told."""
        found = []
        for thing, at in forward.quiet:
            if thing is wrapper and (path := conjoin(forward.path, at)):
                region = next((
                    event for event in reversed(self._trace.events[: forward.index])
                    if isinstance(event, facts.NoSync) and event.wrapper is wrapper
                    and (event.until < 0 or event.until > forward.index) and meets(event.path, path)
                ), None)  # fmt: skip
                if region is None or any(n.unsure for n in self._trace.of(facts.NoSync) if n.site == region.site):
                    return None  # in some round it cannot be told
                found.append(_Quiet(path, ALWAYS, 0, region))
        toggles = [t for t in self._trace.of(facts.Toggle) if t.name == FLAG and t.wrapper is wrapper]
        if not toggles:
            return found
        deciding = self._deciding(forward, toggles)
        if deciding is None:
            return None
        for toggle, back in deciding:
            if any(not _is_told(other.value) for other in toggles if other.site == toggle.site):
                return None
            for case, atom in toggle.value.alternatives:
                flag = conjoin(toggle.path, (case,))
                if atom == Const(False) and flag:
                    always = len(deciding) == 1 and not back and toggle.value.constant() is False
                    found.append(_Quiet(forward.path, flag, back, toggle, always))
        return found

    def _deciding(self, forward: facts.Forward, toggles: list[facts.Toggle]) -> list[tuple[facts.Toggle, int]] | None:
        """Where the flag was set last when the forward comes, and how many rounds ago; None where that is not sure."""
        at = self._place(forward)
        toggles = [t for t in toggles if not _in_another_pass(t, forward)]
        if any(t.loops != forward.loops[: len(t.loops)] for t in toggles):
            return None
        here = [t for t in toggles if t.loops == forward.loops]
        further_out = [t for t in toggles if t.loops != forward.loops]
        earlier = [t for t in here if self._place(t) < at]
        for group, back in ((earlier, 0), ([t for t in here if t not in earlier], 1)):
            if group and (back == 0 or forward.loops):
                return _covering(group, forward.path, back)
        before = [t for t in further_out if self._place(t) < at]
        return _covering(before, forward.path, 0) if before else []

    def _place(self, event: facts.Event) -> int:
        """The index of what stands here when it comes for the first time."""
        return self._first[type(event), event.site, event.chain, event.loops]

    # --------------------------------------------------------------- the step

    def _steps_after(self, backward: facts.Backward, wrapper: Obj) -> Iterator[facts.Step]:
        """The steps of the wrapper's optimizer before which no other backward of the wrapper comes."""
        path = backward.path
        for event in self._trace.events[backward.index + 1 :]:
            if isinstance(event, facts.Backward) and id(wrapper) in self._trained[event]:
                if meets(event.path, path):
                    return
            elif isinstance(event, facts.Step) and updates(event, wrapper, self._alone) and meets(event.path, path):
                shorter = min(len(event.loops), len(backward.loops))
                if event.loops[:shorter] == backward.loops[:shorter]:
                    yield event
                    if event.loops == backward.loops and covers(event.path, path):
                        return

    @property
    def _alone(self) -> bool:
        return len({thing for trained in self._trained.values() for thing in trained}) == 1

    def _evidence(
        self, backward: facts.Backward, step: facts.Step, forward: facts.Forward, quiet: _Quiet
    ) -> Case | None:
        """A case in which the step surely follows the quiet forward; None where there is none."""
        common = [loop for loop, other in zip(step.loops, backward.loops, strict=False) if loop is other]
        last = backward.loops[len(common) :]
        inside = [one for one in self._trace.of(facts.Step) if last and one.loops == backward.loops]
        here = conjoin(quiet.path, backward.path)
        flag = quiet.flag if quiet.back or last else conjoin(quiet.flag, here)
        for silent in here:
            for set_to in flag:
                for stepping in step.path:
                    if not last and (stepping.excludes(silent) or (not quiet.back and stepping.excludes(set_to))):
                        continue
                    if _surely(silent, set_to, stepping, quiet.back, common, last, backward, step, inside):
                        return silent.both(stepping) if not last else silent
        return None


def _surely(
    silent: Case,
    set_to: Case,
    stepping: Case,
    back: int,
    common: list[facts.Loop],
    last: Sequence[facts.Loop],
    backward: facts.Backward,
    step: facts.Step,
    inside: Sequence[facts.Step],
) -> bool:
    always = _given(backward, silent)
    asked = (silent.facts | set_to.facts) - always
    steps = stepping.facts - always
    if any(key.per_rank for key, _ in asked | steps) or forgotten((Case(facts=asked | steps),)):
        return False
    if not asked:
        return True
    if not steps and not last and under_a_test((*step.chain[len(backward.chain) :], step.site)):
        return False  # what decides on the step is not known
    named = back == 0 and not last and asked <= steps and not any("counted" in key.text for key, _ in asked)
    if named:
        return True
    unknown = [pair for pair in asked if not calculable(pair) and not pair[0].text.startswith(_FIXED)]
    if any(pair not in steps for pair in unknown) or (unknown and (back or last)):
        return False
    if any(key.counts and not calculable((key, answer)) for key, answer in steps):
        return False
    if steps and not any(calculable(pair) for pair in steps):
        return False
    own = common[-1] if common else None
    groups = [((silent.facts | stepping.facts) - always, 0), (set_to.facts - always, back)]
    until: frozenset[Fact] = frozenset()
    if len(last) == 1 and (names := counters_in(asked | steps, last[0])):
        # what is left over of a window when the loop ends: as many rounds as come before the step that ends one
        ends = [case.facts - always for case in inside[-1].path] if len({one.site for one in inside}) == 1 else []
        anew = [starts_anew(last[0].site.node, name, inside[-1].site) for name in names] if len(ends) == 1 else [None]
        return None not in anew and Trial(groups, last[0], before=ends[0] if any(anew) else ()).holds()
    if own is not None and (names := counters_in(asked | steps, own)):
        anew = [starts_anew(own.site.node, name, step.site) for name in names]
        if None in anew:
            return False
        until = steps if any(anew) else until
    return Trial(groups, own, last, until).holds()


def _given(backward: facts.Backward, case: Case) -> frozenset[Fact]:
    """What holds anyway where the backward comes in this case, in whichever round."""
    of_it = max(
        (other.facts for other in backward.path if other.facts <= case.facts),
        key=lambda facts: (len(facts), sorted(facts)),
        default=frozenset[Fact](),
    )
    return frozenset(pair for pair in of_it if "loop@" not in pair[0].text and "counted" not in pair[0].text)


def _is_told(flag: Value) -> bool:
    """Whether each case gives one literal."""
    return all(
        isinstance(atom, Const) and all(case.excludes(theirs) for theirs, other in flag.alternatives if other != atom)
        for case, atom in flag.alternatives
    )


def _in_another_pass(event: facts.Event, other: facts.Event) -> bool:
    """Whether a loop around both was gone through once more between them: the same is done again in each pass."""
    apart = next((pair for pair in zip(event.loops, other.loops, strict=False) if pair[0] is not pair[1]), None)
    return apart is not None and apart[0].site == apart[1].site


def _covering(group: list[facts.Toggle], path: Path, back: int) -> list[tuple[facts.Toggle, int]] | None:
    """The last of them, as many as it takes for one to be on the path whatever the tests answer."""
    cover: Path = NEVER
    found = []
    for toggle in reversed(group):
        cover = disjoin(cover, toggle.path)
        found.append((toggle, back))
        if covers(cover, path):
            return found
    return None


def covers(cover: Path, path: Path) -> bool:
    """Whether one of the cases of ``cover`` holds in each case of ``path``."""
    return all(any(case.implies(other) for other in cover) for case in path)


def updates(step: facts.Step, wrapper: Obj, alone: bool) -> bool:
    """Whether the optimizer has the wrapper's parameters: where that is not seen, it does if there is no other."""
    known = [
        part
        for atom in step.optimizer.atoms()
        if isinstance(atom, Obj)
        for part in atom.notes.get("over", ())
        if isinstance(part, Obj) and part.kind in ("ddp", "module")
    ]
    return any(is_of(part, wrapper) for part in known) if known else alone


def is_of(part: Obj, wrapper: Obj) -> bool:
    """Whether something is the wrapper, what it wraps, or a part of that."""
    inner = wrapper.attrs.get("module")
    return part is wrapper or (inner is not None and any(holds(atom, part) for atom in inner.atoms()))


def reduced_by_hand(trace: facts.Trace, wrapper: Obj) -> bool:
    """Whether the program averages gradients or parameters itself where it trains, or arms the reducer.

    Code out of sight may do so where it is given the wrapper, or its parameters, between a backward and the step.
    """
    trains = differentiated = False
    for event in trace.events:
        match event:
            case facts.Backward():
                trains = differentiated = True
            case facts.Step():
                differentiated = False
            case facts.Prepare() if event.wrapper is wrapper:
                return True
            case facts.Escape() if differentiated and is_of(event.thing, wrapper):
                return True
            case facts.Collective() if trains:
                # numbers that the network gave are sent for the log or to decide on an early end
                taint = event.tensors.taint
                if any(_is_weight_of(part, wrapper) for part in taint) or _is_named_by(event.tensors, wrapper):
                    return True
                if differentiated and any(isinstance(part, Obj) and is_of(part, wrapper) for part in taint):
                    return True
    return False


def _is_weight_of(part: object, wrapper: Obj) -> bool:
    """Whether something is made of parameters of the wrapper's network."""
    match part:
        case facts.Weights(module=module) | facts.StateDict(module=module):
            return is_of(module, wrapper)
        case facts.PartOf(state=state):
            return is_of(state.module, wrapper)
    return False


def _is_named_by(tensors: Value, wrapper: Obj) -> bool:
    """Whether it is reached by name from the wrapper or its network: ``model.head.weight.grad``."""
    inner = wrapper.attrs.get("module")
    owners = [wrapper, *(inner.atoms() if inner is not None else ())]
    starts = tuple(f"{owner.key}." for owner in owners if isinstance(owner, Obj))
    texts = [atom.text for atom in tensors.atoms() if isinstance(atom, Sym)]
    return any(text.startswith(starts) and "(" not in text for text in texts)
