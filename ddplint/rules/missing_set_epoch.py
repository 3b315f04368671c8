"""ddp-missing-set-epoch: the sampler draws the same order in every epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Path, meets
from ddplint.engine.names import DISTRIBUTED_SAMPLER
from ddplint.engine.placing import function_of, place_to_report, settled_chain, under_a_test
from ddplint.engine.questions import Program, Training
from ddplint.engine.sharing import draws_by_own_epoch, keeps_seeding, samplers
from ddplint.engine.values import Class, Const, Obj, Site, Sym, Value
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place, wrapped_here
from ddplint.rules.wording import counter, gone_over, made_apart, name_of, target_of, written

SYMBOL = "ddp-missing-set-epoch"


@dataclass(eq=False)
class _Untold:
    """A sampler that is not told the epoch: why it shows, and the passes in which it does."""

    sampler: Obj
    training: Training
    passes: list[facts.Iterate]
    why: str
    loop: Site | None


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Samplers that train and are not told the epoch."""
    for program in programs:
        if not program.trace.complete:
            continue  # the call may stand in what was not run
        wrong, right = _judge(program)
        for found in wrong:
            sampler = found.sampler
            assert sampler.site is not None
            site = place_to_report(_route(sampler), [settled_chain(_route(o)) for o in right if o.site == sampler.site])
            at = place(found.passes[-1].site, site)
            made = "This sampler" if site == sampler.site else f"The sampler made at {place(sampler.site, site)}"
            why = found.why.replace("{at}", at).replace("{loop}", place(found.loop, site))
            yield finding(SYMBOL, site, (made, why), _evidence(found))


def _evidence(found: _Untold) -> list[Other]:
    passes = [(each.site, "a pass over its loader begins here") for each in reversed(found.passes)]
    made, loop = (found.sampler.site, "the sampler is made here"), (found.loop, "this loop repeats the passes")
    return [made, *passes[:1], loop, *passes[1:], wrapped_here(found.training.wrapper)]


def _judge(program: Program) -> tuple[list[_Untold], list[Obj]]:
    """The samplers of a program that are not told the epoch, and those that are."""
    wrong: list[_Untold] = []
    right: list[Obj] = []
    seen: set[tuple[int, int]] = set()
    for training in (*program.training, *program.training_past_wrappers):
        loader = training.loader
        if id(loader) in program.escaped or not program.on_many_ranks(training.backward, training.path):
            continue
        passes = _training_passes(program, loader, training.path)
        for sampler, path in samplers(loader, training.path):
            if not isinstance(sampler, Obj) or id(sampler) in program.escaped:
                continue
            if (id(sampler), id(loader)) in seen or sampler.site is None:
                continue
            if not _shuffles_by_epoch(sampler, path) or _shards_for_framework(sampler):
                continue
            why, loop = _repeats_its_order(program, sampler, passes, path)
            if why and not _told_in_another_loop(program, sampler, loader):
                seen.add((id(sampler), id(loader)))
                wrong.append(_Untold(sampler, training, passes, why, loop))
            elif any(event.sampler is sampler for event in program.trace.of(facts.SetEpoch)):
                right.append(sampler)
    return wrong, right


def _route(sampler: Obj) -> tuple[Site, ...]:
    """The calls that lead to the construction of a sampler, and the construction."""
    assert sampler.site is not None
    return (*sampler.notes["chain"], sampler.site)


def _training_passes(program: Program, loader: Obj, path: Path) -> list[facts.Iterate]:
    return [e for e in program.trace.of(facts.Iterate) if e.loader is loader and e.grad and meets(e.path, path)]


def _shuffles_by_epoch(sampler: Obj, path: Path) -> bool:
    """Whether it draws a new order for each epoch it is told, and only then."""
    if sampler.kind == "sampler":
        if isinstance(sampler.cls, Class) and not keeps_seeding(sampler.cls):
            return False
        shuffle = sampler.attrs.get("shuffle")
        if isinstance(sampler.cls, Class) and not sampler.notes.get("initialised"):
            return False
        if shuffle is None:
            return True
        answers = [atom for _, atom in shuffle.within(path).alternatives]
        return bool(answers) and all(isinstance(a, Const) and bool(a.value) for a in answers)
    return isinstance(sampler.cls, Class) and draws_by_own_epoch(sampler.cls)


def _shards_for_framework(sampler: Obj) -> bool:
    """Whether its ranks are those of a framework, which does not wrap natively."""
    return any("framework" in sampler.attrs[name].taint for name in ("num_replicas", "rank") if name in sampler.attrs)


def _repeats_its_order(
    program: Program, sampler: Obj, passes: list[facts.Iterate], path: Path
) -> tuple[str, Site | None]:
    """Why a later pass sees the order of an earlier one, and the loop; empty where none does, or it cannot be told."""
    replayed = [e for e in passes if e.replay]
    if replayed:
        return (
            f"{replayed[0].replay} at {{at}} keeps the first pass over the loader and replays it; "
            "iterate the loader anew in each epoch, after set_epoch(epoch) on its sampler"
        ), None
    told = [
        e
        for e in program.trace.of(facts.SetEpoch)
        if e.sampler is sampler and meets(e.path, path) and _changes(e.epoch)
    ]
    built_in = set(sampler.notes.get("loops", ()))
    again = [[loop for loop in e.loops if loop.repeats] for e in passes]
    for loops in again:
        outside = [loop for loop in loops if loop not in built_in]
        if outside:
            if any(set(outside) & set(e.loops) for e in told):
                return "", None
            continue
        if loops and not _seeded_by_loop(sampler) and not told:
            return (
                "it is built anew in each epoch of the loop around {at} and so begins at epoch 0 each time; "
                "call set_epoch(epoch) on it before the loader is iterated"
            ), None
    for one_pass, loops in zip(passes, again, strict=True):
        outside = [loop for loop in loops if loop not in built_in]
        if outside:
            text = "the passes over its loader at {at} are repeated and no call of set_epoch reaches it in between"
            loop = _epochs(outside)
            return f"{text}; {_call(sampler, one_pass, loop.site)}", loop.site
    return "", None


def _epochs(loops: list[facts.Loop]) -> facts.Loop:
    """Of the loops that repeat a pass, the one that seems to count them."""
    return next((loop for loop in reversed(loops) if counter(loop.site.node) is not None), loops[0])


def _call(sampler: Obj, one_pass: facts.Iterate, loop: Site) -> str:
    """What to write in the loop that repeats the passes, in the names that are known there."""
    assert sampler.site is not None
    bound = target_of(sampler.site)
    name = written(bound[0], "") if bound is not None and function_of(sampler.site) == function_of(loop) else ""
    is_given = more = ""
    if name:
        if bound is not None and bound[1]:
            is_given = f"if {name} is not None: "
        elif made_apart(sampler.site, loop):
            more = ", under the test that stands over the sampler"
    else:
        loader = gone_over(one_pass.site, one_pass.chain, loop)
        given = one_pass.loader.attrs.get("sampler")
        direct = given is not None and any(atom is sampler for atom in given.atoms())
        name = f"{loader}.sampler" if direct else f"{loader}.batch_sampler.sampler"
        if under_a_test(_route(sampler)):
            is_given = f"if isinstance({name}, {name_of(DISTRIBUTED_SAMPLER, loop)}): "
    count = counter(loop.node)
    if count is None:
        count, more = "epoch", f"{more}, with the number of the round as epoch"
    return f"write '{is_given}{name}.set_epoch({count})' at the start of each round of the loop at {{loop}}{more}"


def _told_in_another_loop(program: Program, sampler: Obj, loader: Obj) -> bool:
    """Whether a loop that trains tells it, on whatever path: one that does not (a search, say) is by the way."""
    repeated = {
        loop
        for e in program.trace.of(facts.Iterate)
        if e.loader is loader and e.grad and not e.replay
        for loop in e.loops
        if loop.repeats and loop not in sampler.notes.get("loops", ())
    }
    return any(
        e.sampler is sampler and _changes(e.epoch) and not repeated.isdisjoint(e.loops)
        for e in program.trace.of(facts.SetEpoch)
    )


def _changes(epoch: Value) -> bool:
    return not all(isinstance(atom, Const) for atom in epoch.atoms())


def _seeded_by_loop(sampler: Obj) -> bool:
    args = sampler.notes.get("args")
    seed = sampler.attrs.get("seed")
    values = (
        [seed] if seed is not None else list(args.all()) if args is not None and isinstance(sampler.cls, Class) else []
    )
    return any(isinstance(atom, Sym) and (atom.counter or "loop@" in atom.text) for v in values for atom in v.atoms())


RULE = Rule(
    id="W7102",
    symbol=SYMBOL,
    message="%s shuffles the same way in every epoch, and each rank keeps the same share: %s",
    check=check,
)
