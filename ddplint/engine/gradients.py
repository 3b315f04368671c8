"""What a calculation does to the graph of a value, and to what a collective gave, which autograd does not see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.values import HANDLED, PICKED, Obj, Ranked, Sym, Value

NONLINEAR = frozenset(
    ["log", "log2", "log1p", "exp", "sqrt", "rsqrt", "pow", "square", "reciprocal", "sigmoid", "tanh", "softmax",
     "log_softmax", "logsumexp", "logsigmoid", "softplus", "relu", "normalize", "cross_entropy",
     "binary_cross_entropy_with_logits", "mse_loss"]
)  # fmt: skip
"""Functions and methods whose gradient depends on the value they are given."""
REDUCES = frozenset({"all_reduce", "reduce"})
"""Collectives that put the sum of the ranks, or the like, in the place of the value that they are given."""
_SIZE = re.compile(r"(?:\.|^option )world_size(?: of #\d+)?$|^device count$")
"""What a value out of sight is called that is the number of ranks: as many as there are devices, too."""


def by_ranks(trace: facts.Trace, divisors: Iterable[Value]) -> bool:
    """Whether something is divided by the number of ranks: by what torch, the making of the group or its name says."""
    atoms = {atom for value in divisors for atom in value.atoms()}
    if any(isinstance(atom, Ranked) and atom.role == "world size" for atom in atoms):
        return True
    unknown = {atom.text for atom in atoms if isinstance(atom, Sym)}
    if any(_SIZE.search(text) for text in unknown):
        return True
    sizes = (join.size for join in trace.of(facts.Join) if join.size is not None) if unknown else ()
    return any(isinstance(atom, Sym) and atom.text in unknown for size in sizes for atom in size.atoms())


def with_gathered(source: Value, element: Value) -> Value:
    """An element of a list, made of the collective that filled the list."""
    filled = source.only
    marks = filled.notes.get("marks", ()) if isinstance(filled, Obj) and filled.kind == "list" else ()
    gathers = frozenset(part for part in marks if isinstance(part, facts.Collective))
    if not gathers:
        return element
    return Value(
        tuple(
            (case, replace(atom, made_of=atom.made_of | gathers) if isinstance(atom, Sym) else atom)
            for case, atom in element.alternatives
        )
    )


def distorted(made_of: frozenset[Any]) -> frozenset[Any]:
    """The marks of what is divided by the number of ranks or used nonlinearly."""
    return frozenset(facts.Distorted(part) for part in made_of if isinstance(part, facts.Collective))


def sizes(made_of: frozenset[Any]) -> frozenset[Any]:
    """What the sizes of a tensor are made of: not of what the batches hold, but of how large they are."""
    if PICKED in made_of:
        return without_graph(made_of)
    return frozenset(
        facts.SizeOf(part) if isinstance(part, Obj) and part.kind == "loader" else part
        for part in without_graph(made_of)
    )


def without_graph(made_of: frozenset[Any]) -> frozenset[Any]:
    """What the numbers of a tensor are made of, through which no gradient comes back."""
    return frozenset(
        part for part in made_of if not isinstance(part, facts.Forward | facts.Collective | facts.Distorted)
    )


def of_collectives(made_of: frozenset[Any]) -> frozenset[Any]:
    """What of these ranks have put together."""
    return frozenset(part for part in made_of if isinstance(part, facts.Collective | facts.Distorted))


def handled(made_of: frozenset[Any]) -> frozenset[Any]:
    """What comes out of a call that is not followed is made of; it may have put together what the ranks have."""
    outputs = (part.by if isinstance(part, facts.Compared) else part for part in made_of)
    given = any(isinstance(part, facts.Forward) and part.module.kind == "ddp" for part in outputs)
    return made_of | {HANDLED} if given else made_of


def compared(made_of: frozenset[Any]) -> frozenset[Any]:
    """What the answers of a comparison of tensors are made of."""
    return without_graph(made_of) | {facts.Compared(part) for part in made_of if isinstance(part, facts.Forward)}
