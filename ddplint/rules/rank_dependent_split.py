"""ddp-rank-dependent-split: ranks disagree on who owns which sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.conditions import Path, conjoin
from ddplint.engine.drawing import Cause, cause, draws_behind, of_its_own
from ddplint.engine.placing import first_of_arms, in_function, place_to_report, settled_chain
from ddplint.engine.questions import Program, Training
from ddplint.engine.sharing import samplers
from ddplint.engine.values import Const, Obj, Site, Sym
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place, wrapped_here
from ddplint.rules.wording import argument, name_of, spelled

SYMBOL = "ddp-rank-dependent-split"


@dataclass(eq=False)
class _Use:
    """A sampler, or a draw behind what is shared out, in one program. ``why``: ranks differ; None: they agree."""

    route: tuple[Site, ...]
    training: Training
    made: Obj | facts.Draw
    sampler: Obj | None
    why: Cause | None
    seed: facts.Seed | None = None


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Samplers and draws by which each rank deals the samples out in its own way."""
    uses = [use for program in programs for use in _uses(program)]
    right: dict[Site, list[tuple[Site, ...]]] = defaultdict(list)
    for use in uses:
        if use.why is None:
            right[use.route[-1]].append(use.route)
    wrong = [use for use in uses if use.why is not None and not _is_right(use.route, right[use.route[-1]])]
    drawn: dict[facts.Event, tuple[Site, ...]] = {
        use.made: use.route for use in wrong if isinstance(use.made, facts.Draw)
    }
    kept = set(first_of_arms(drawn))
    for use in wrong:
        if isinstance(use.made, Obj) or use.made in kept:
            yield _finding(place_to_report(use.route, right[use.route[-1]]), use)


def _is_right(route: tuple[Site, ...], right: list[tuple[Site, ...]]) -> bool:
    return any(other[-len(route) :] == route for other in right)


def _uses(program: Program) -> Iterator[_Use]:
    """The samplers that deal samples out for training, and the draws behind what is dealt out."""
    for training in program.training:
        if not program.on_many_ranks(training.backward, training.path):
            continue
        for sampler, path in samplers(training.loader, training.path):
            dealt = sampler if isinstance(sampler, Obj) and sampler.kind == "sampler" else None
            if dealt is not None and dealt.site is not None and _shuffles(dealt, path):
                seed = dealt.attrs.get("seed")
                why = of_its_own(program, seed, path) if seed is not None else None
                route = settled_chain((*dealt.notes["chain"], dealt.site))
                yield _Use(route, training, dealt, dealt, why)
            for draw in _draws(training.loader, sampler, dealt is not None):
                here = conjoin(draw.path, path)
                if here and program.on_many_ranks(draw, here):
                    why, seeded = cause(program, draw, here) or (None, None)
                    route = settled_chain((*draw.chain, draw.site))
                    yield _Use(route, training, draw, dealt, why, seeded)


def _shuffles(sampler: Obj, path: Path) -> bool:
    shuffle = sampler.attrs.get("shuffle")
    atom = shuffle.within(path).only if shuffle is not None else None
    return not (isinstance(atom, Const) and not atom.value)


def _draws(loader: Obj, sampler: Obj | Sym | None, dealt: bool) -> list[facts.Draw]:
    """The draws behind what is dealt out by a distributed sampler, or of which each rank takes its part itself."""
    values = [loader.attrs[name] for name in ("dataset", "sampler", "batch_sampler") if name in loader.attrs]
    if isinstance(sampler, Obj):
        values += sampler.attrs.values()
    return draws_behind(values, shared=not dealt)


def _finding(site: Site, use: _Use) -> Finding:
    if isinstance(use.made, Obj):
        what, cure, others = _of_sampler(use.made, site)
    else:
        what, cure, others = _of_draw(use.made, use, site)
    return finding(SYMBOL, site, (what, cure), [*others, wrapped_here(use.training.wrapper)])


def _of_sampler(sampler: Obj, site: Site) -> tuple[str, str, list[Other]]:
    made = "this sampler" if sampler.site == site else f"the sampler made at {place(sampler.site, site)}"
    assert sampler.site is not None
    seed = spelled(argument(sampler.site, 4, "seed"), "a seed of its own")
    what = f"{made} is seeded with {seed}, which differs from rank to rank, so each shuffles in an order of its own"
    return what, "Give it the same seed on every rank", [(sampler.site, "the sampler is made here")]


_GLOBAL = {
    "torch": "torch's global generator",
    "numpy": "numpy's global generator",
    "random": "Python's global generator",
}


def _of_draw(draw: facts.Draw, use: _Use, site: Site) -> tuple[str, str, list[Other]]:
    others: list[Other] = [(draw.site, "the samples are drawn here")]
    how = draw.how if draw.site == site else f"{draw.how} at {place(draw.site, site)}"
    is_global = draw.generator is None or draw.generator.constant() is None
    source = _GLOBAL[draw.source] if is_global else "a generator"
    match use.why:
        case Cause.UNSEEDED:
            why = "that nothing seeds"
        case Cause.IN_PARENT:
            why = "that is seeded in the process alone that starts the ranks"
        case Cause.OWN:
            why = "that is seeded from the machine's own randomness"
        case Cause.CLOCK:
            why = "that each rank seeds from the clock"
        case Cause.LOTS:
            why = "that each rank seeds with a random number of its own"
        case _:
            why = "that is seeded by rank"
    if use.seed is not None:
        why += f" at {place(use.seed.site, site)}"
        others.append((use.seed.site, "the generator is seeded here"))
    dealt = use.sampler.site if use.sampler is not None else None
    by = f" by the sampler at {place(dealt, site)}" if dealt is not None else ", each rank its part"
    others.append((dealt, "the samples are shared out here"))
    what = f"{how} draws from {source} {why}, and what it gives is then shared out{by}"
    return what, _cure(draw, is_global), others


def _cure(draw: facts.Draw, is_global: bool) -> str:
    if in_function(draw.site, "__iter__"):
        return "Draw from a generator that is seeded with the epoch, alike on every rank"
    if is_global and draw.option:
        return f"Pass {draw.option}, or seed all ranks alike before it"
    if is_global and draw.how in ("random_split", "randperm"):
        generator = name_of("torch.Generator", draw.site)
        return f"Pass 'generator={generator}().manual_seed(0)', or seed all ranks alike before it"
    return "Seed it alike on every rank before it draws"


RULE = Rule(
    id="W7114",
    symbol=SYMBOL,
    message="Ranks disagree on who owns which sample: %s. %s",
    check=check,
)
