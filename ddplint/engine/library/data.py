"""Loaders, samplers and data sets."""

from __future__ import annotations

import ast

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.library.containers import iterator_of
from ddplint.engine.library.making import initialise
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.names import DATA_LOADER, DISTRIBUTED_SAMPLER
from ddplint.engine.values import NONE, Lib, Obj, Sym, Value, one


@handles(DATA_LOADER)
def _loader(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("loader", node, Lib(DATA_LOADER), args=args)
    initialise(m, made, args, node)
    return one(made)


@handles(DISTRIBUTED_SAMPLER)
def _sampler(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("sampler", node, Lib(DISTRIBUTED_SAMPLER), args=args)
    initialise(m, made, args, node)
    return one(made)


@handles(
    "torch.utils.data.RandomSampler",
    "torch.utils.data.SequentialSampler",
    "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.BatchSampler",
)
def _plain_sampler(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("instance", node, Lib(name), args=args)
    generator = args.get(1 if "Subset" in name else 3, "generator")
    made.notes["repeats draws"] = _repeats_draws(name, args)
    given = [value for value in args.all() if value is not generator or made.notes["repeats draws"]]
    made.notes["per_rank"] = any(value.per_rank for value in given if not value.counter)
    first = args.get(0, "sampler", "data_source", "indices", "weights")
    if first is not None:
        made.attrs["sampler" if name.endswith("BatchSampler") else "source"] = first
    return one(made)


def _repeats_draws(name: str, args: Arguments) -> bool:
    """Whether the sampler may draw with replacement, so that seeds of their own make the ranks' draws differ."""
    if name.endswith("WeightedRandomSampler"):
        replacement = args.get(2, "replacement")
        return replacement is None or replacement.constant() is not False
    replacement = args.get(1, "replacement") if name.endswith(".RandomSampler") else None
    return replacement is not None and replacement.constant() is not False


def loader_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a data loader; None where it is none that matters."""
    if name == "__iter__":
        return iterator_of(m, name, Arguments([one(me)]), node)
    if name == "set_epoch":
        return NONE
    if name == "__len__":
        return one(Sym(f"len({me.key})", counter=True, opaque=False))
    return None


def sampler_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a distributed sampler; None where it is none that matters."""
    if name == "set_epoch":
        if node is not None:
            m.record(facts.SetEpoch, node, sampler=me, epoch=first_argument(args))
        return NONE
    if name in ("__iter__", "__len__"):
        return one(Sym(f"{me.key}.{name}", ranked=True, opaque=False))
    if name in ("state_dict", "load_state_dict"):
        return one(Sym(f"{me.key}.{name}", opaque=False))
    return None
