"""What a calculation does to a value that came out of a collective, which autograd does not see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ddplint.engine import facts
from ddplint.engine.values import Ranked, Sym, Value

NONLINEAR = frozenset(
    ["log", "log2", "log1p", "exp", "sqrt", "rsqrt", "pow", "square", "reciprocal", "sigmoid", "tanh", "softmax",
     "log_softmax", "logsumexp", "logsigmoid", "softplus", "relu"]
)  # fmt: skip
"""Functions and methods whose gradient depends on the value they are given."""


def by_ranks(divisors: Iterable[Value]) -> bool:
    """Whether something is divided by the number of ranks."""
    return any(_counts_ranks(atom) for value in divisors for atom in value.atoms())


def _counts_ranks(atom: object) -> bool:
    if isinstance(atom, Ranked):
        return atom.role == "world size"
    return isinstance(atom, Sym) and "world" in atom.text


def distorted(made_of: frozenset[Any]) -> frozenset[Any]:
    """The marks of what is divided by the number of ranks or used nonlinearly."""
    return frozenset(facts.Distorted(part) for part in made_of if isinstance(part, facts.Collective))
