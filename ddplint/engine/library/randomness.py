"""Generators of random numbers, how they are seeded, and what is drawn from them in an order of their own."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.gradients import without_graph
from ddplint.engine.library.registry import IN_SIGHT, first_argument, handles, mark_in_place, place_of
from ddplint.engine.machine import Machine
from ddplint.engine.ordering import drawn_lots, order_kept, with_lots
from ddplint.engine.values import NONE, Atom, Lib, Obj, Sym, Value, blend, one

_SEEDS = re.compile(r"seed|reprod|rng_state")
_MAY_SEED = re.compile(r"seed|reprod|determin|random|rng|init|setup|set_up|environ", re.IGNORECASE)
_SEEDS_NONE_OF_THESE = ("torch.", "numpy.", "random.")
"""Where the functions that seed a generator of the processor are known one by one."""


def may_seed(name: str) -> bool:
    """Whether a function of a library, by its name, seeds the global generators."""
    return not name.startswith(_SEEDS_NONE_OF_THESE) and _SEEDS.search(name.rpartition(".")[2]) is not None


def may_seed_unseen(called: Atom) -> bool:
    """Whether what is called out of sight may seed the global generators."""
    if isinstance(called, Lib) and called.name.split(".")[0] in IN_SIGHT:
        return False
    return _MAY_SEED.search(called.key.rpartition(".")[2]) is not None


def seeded_out_of_sight(m: Machine, node: ast.AST | None) -> None:
    """Record that the global generators may have been seeded, nobody can see how."""
    if node is not None:
        m.record(facts.Seed, node, generator=None, seed=one(Sym("seed out of sight")), source="")


def _seed_in(args: Arguments) -> Value | None:
    """The seed among the arguments; None where the machine's own randomness is taken."""
    given = first_argument(args)
    return None if given.constant() is None else given


@handles(
    "torch.manual_seed", "torch.random.manual_seed", "torch.default_generator.manual_seed", "random.seed",
    "numpy.random.seed",
)  # fmt: skip
def _seed(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        m.record(facts.Seed, node, generator=None, seed=_seed_in(args), source=name.split(".", maxsplit=1)[0])
    return one(Sym("generator", opaque=False))


@handles("torch.seed", "torch.random.seed")
def _own_seed(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        m.record(facts.Seed, node, generator=None, seed=None, source="torch")
    return one(Sym("seed of its own", opaque=False))


@handles(
    "transformers.set_seed", "transformers.trainer_utils.set_seed", "accelerate.utils.set_seed",
    "lightning.seed_everything", "lightning.pytorch.seed_everything", "lightning.fabric.seed_everything",
    "pytorch_lightning.seed_everything", "pytorch_lightning.utilities.seed.seed_everything",
)  # fmt: skip
def _seed_all(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A library seeds the generators of torch, numpy and Python together."""
    seed = args.get(0, "seed")
    if node is not None:
        known = seed is not None and seed.constant() is not None and "device_specific" not in args.keywords
        m.record(facts.Seed, node, generator=None, seed=seed if known else one(Sym("seed out of sight")), source="")
    return seed if seed is not None else one(Sym("seed"))


@handles("torch.set_rng_state", "torch.random.set_rng_state", "random.setstate", "numpy.random.set_state")
def _state(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        m.record(facts.Seed, node, generator=None, seed=one(Sym("state")), source=name.split(".", maxsplit=1)[0])
    return NONE


@handles("torch.Generator")
def _generator(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("rng", node, Lib(name)))


@handles("random.Random", "numpy.random.default_rng", "numpy.random.RandomState")
def _seeded_generator(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("rng", node, Lib(name))
    _seed_one(m, made, _seed_in(args), node)
    return one(made)


def _seed_one(m: Machine, generator: Obj, seed: Value | None, node: ast.AST | None) -> None:
    if node is not None:
        m.record(facts.Seed, node, generator=generator, seed=seed, source=_source(generator))
    if seed is not None and seed.per_rank:
        generator.notes["per_rank"] = True


def _source(generator: Obj) -> str:
    return generator.cls.name.split(".")[0] if isinstance(generator.cls, Lib) else ""


_IN_PLACE = frozenset({"shuffle"})
_DRAWS = frozenset({"permutation", "permuted", "sample"})
_NUMBERS = frozenset({"random", "rand", "random_sample", "uniform", "integers", "randint", "randrange"})


def rng_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a generator of random numbers."""
    if name in ("manual_seed", "seed"):
        _seed_one(m, me, None if name == "seed" and _source(me) == "torch" else _seed_in(args), node)
        return one(me) if name == "manual_seed" else NONE
    if name in ("set_state", "setstate"):
        _seed_one(m, me, one(Sym("state")), node)
        return NONE
    if name in _IN_PLACE:
        return _shuffled(m, name, one(me), args, node)
    result = blend(f"{me.key}.{name}", args.all(), opaque=False)
    if name in _NUMBERS:
        numbers = replace(result, ranked=me.per_rank or result.ranked)
        return one(_noisy(m, numbers, name, one(me), args, node))
    made_of = result.made_of
    if name in _DRAWS or (name == "choice" and _without_return(args)):
        made_of |= drawn(m, name, one(me), first_argument(args), _source(me), node)
    return one(Sym(result.text, me.per_rank or result.ranked, False, False, made_of))


@handles(
    "numpy.argsort", "numpy.argwhere", "numpy.flatnonzero", "numpy.logical_not", "numpy.nonzero", "torch.argsort",
    "torch.nonzero",
)  # fmt: skip
def places(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """The places of what is true, or in an order: by the lots drawn for them, or as random numbers say."""
    given = with_lots(m.trace, first_argument(args))
    result = blend(name, [given, *args.all()[1:]], opaque=False)
    kept = order_kept(without_graph(result.made_of), [given])
    return one(replace(result, counter=False, made_of=drawn_lots(kept) if name.endswith("argsort") else kept))


def _without_return(args: Arguments) -> bool:
    replace = args.get(2, "replace")
    return replace is not None and replace.constant() is False


def drawn(
    m: Machine,
    how: str,
    generator: Value | None,
    what: Value,
    source: str,
    node: ast.AST | None,
    option: str = "",
) -> frozenset[Any]:
    """Record a draw; what comes of it is made of it."""
    if node is None:
        return frozenset()
    draw = m.record(facts.Draw, node, how=how, generator=generator, what=what, source=source, option=option)
    return frozenset({draw})


@handles("random.shuffle", "numpy.random.shuffle")
def _shuffle(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _shuffled(m, name, None, args, node)


def _shuffled(m: Machine, how: str, generator: Value | None, args: Arguments, node: ast.AST | None) -> Value:
    """Something is shuffled in place: from now on it is made of this draw."""
    what = first_argument(args)
    source = _source_of(how, generator)
    draws = drawn(m, how, generator, what, source, node)
    mark_in_place(m, node.args[0] if isinstance(node, ast.Call) and node.args else None, what, draws)
    return NONE


def _source_of(how: str, generator: Value | None) -> str:
    atom = generator.only if generator is not None else None
    return _source(atom) if isinstance(atom, Obj) else how.split(".", maxsplit=1)[0]


@handles("torch.utils.data.random_split", "torch.utils.data.dataset.random_split")
def _random_split(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    whole = first_argument(args)
    draws = drawn(m, "random_split", args.get(2, "generator"), whole, "torch", node)
    lengths = exact_elements(args.positional[1]) if len(args.positional) > 1 else None
    made = m.new("list", node)
    for number in range(len(lengths) if lengths else 3):
        part = blend(f"part {number} of", [whole])
        made.attrs[f"[{number}]"] = one(Sym(part.text, part.ranked, False, part.opaque, part.made_of | draws))
    return one(made)


@handles(
    "random.random", "random.uniform", "random.randint", "random.randrange", "random.getrandbits",
    "numpy.random.rand", "numpy.random.random", "numpy.random.random_sample", "numpy.random.uniform",
    "numpy.random.randint", "torch.rand", "torch.randint",
)  # fmt: skip
def _numbers(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    given = [
        *args.positional,
        *(value for key, value in args.keywords.items() if key != "device"),
        *args.rest,
        *args.more,
    ]
    result = blend(f"{name}@{place_of(node)}", given, opaque=False)
    numbers = replace(result, ranked=any(value.per_rank for value in given), counter=False)
    return one(_noisy(m, numbers, name, args.get(None, "generator"), args, node))


def _noisy(m: Machine, numbers: Sym, how: str, generator: Value | None, args: Arguments, node: ast.AST | None) -> Sym:
    """Random numbers, made of a draw that is not written down: that it decides on samples is seen where it does."""
    if node is None:
        return numbers
    key = (m.site(node), m.frame.chain, m.workers > 0)
    if (draw := m.noises.get(key)) is None:
        source = _source_of(how, generator)
        what = first_argument(args)
        draw = m.event(facts.Draw, node, how=how, generator=generator, what=what, source=source)
        m.noises[key] = draw
    return replace(numbers, made_of=numbers.made_of | {facts.Noise(draw)})


@handles("torch.randperm", "numpy.random.permutation", "random.sample", "numpy.random.choice")
def _permutation(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source, last = name.split(".", maxsplit=1)[0], name.rpartition(".")[2]
    result = blend(last, args.positional, opaque=False)
    draws: frozenset[Any] = frozenset()
    if last != "choice" or _without_return(args):
        how = last if source == "torch" else name
        draws = drawn(m, how, args.get(None, "generator"), first_argument(args), source, node)
    made = Sym(result.text, result.ranked, False, False, result.made_of | draws)
    return one(made if draws else _noisy(m, made, name, None, args, node))
