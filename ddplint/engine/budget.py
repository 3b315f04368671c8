"""How often each function of a program is followed: until it has shown that it does nothing of interest, or enough."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from ddplint.engine.conditions import EVERY_RANK
from ddplint.engine.values import CONTAINERS, UNSEEN, Const, Obj, Sym, Value

_MOST_NESTED = 8
"""How often a function is followed from calls within itself, however deep."""
_DULL = 200
"""How many statements of a function are run that does nothing of interest."""
_SMALL = 20
"""A function of fewer statements that answers yes or no is always followed: a guard may hang on the answer."""
_ENOUGH = 1_500
"""How many statements a function takes before it is left, the first runs apart."""
_FIRST_RUNS = 6


@dataclass
class Work:
    """What was done so far, by which the work of one run of a function is told."""

    statements: int = 0
    deeds: int = 0
    """Events, departures from loops left out."""
    epochs: int = 0
    """Epochs that were set."""
    made: int = 0
    """Things that were made."""

    def copy(self) -> Work:
        """The counts of this moment."""
        return Work(self.statements, self.deeds, self.epochs, self.made)


@dataclass
class Record:
    """What the runs of one function have shown. ``sets_epoch``: a sampler was told the epoch in one of them."""

    nested: int = 0
    runs: int = 0
    statements: int = 0
    dull: int = 0
    sets_epoch: bool = False
    results: dict[tuple[str, ...], Value] = field(default_factory=dict)

    def too_deep(self, again: int) -> bool:
        """Whether a call within itself, with ``again`` runs of it under way, is one too many."""
        self.nested = self.nested + 1 if again else 0
        return again > 2 or self.nested > _MOST_NESTED

    @property
    def is_dull(self) -> bool:
        """Whether it has shown that it does nothing of interest."""
        return self.dull > _DULL

    @property
    def is_spent(self) -> bool:
        """Whether it has taken as much as one function may."""
        return self.runs >= _FIRST_RUNS and self.statements > _ENOUGH and self.statements > _SMALL * self.runs

    def add(self, before: Work, after: Work, bound: dict[str, Value], result: Value) -> None:
        """Note a run that has ended: the work before and after it, what it was given and what it gave."""
        cost = after.statements - before.statements
        self.runs += 1
        self.statements += cost
        self.sets_epoch = self.sets_epoch or after.epochs > before.epochs
        if after.deeds > before.deeds or not _says_nothing(result, _parts(bound), before.made):
            return
        answers = any(isinstance(atom, Const) and isinstance(atom.value, int) for atom in result.atoms())
        if not answers or cost > _SMALL:
            self.dull += cost
        if not any(case.facts for case, _ in result.alternatives):
            self.results[keys(bound)] = result


class Budget:
    """The records of a program's functions."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def of(self, function: ast.AST) -> Record:
        """The record of the function with this node."""
        return self._records.setdefault(id(function), Record())


def keys(bound: dict[str, Value]) -> tuple[str, ...]:
    """What is equal for equal arguments."""
    return tuple(value.key for value in bound.values())


def _parts(bound: dict[str, Value]) -> frozenset[Any]:
    """What the arguments of a call are made of."""
    found: frozenset[Any] = frozenset({UNSEEN})
    for value in bound.values():
        found |= value.taint
    return found


def _says_nothing(value: Value, given: frozenset[Any], youngest: int, depth: int = 3) -> bool:
    """Whether a result says no more than one from out of sight would.

    That is nothing about ranks, and it is made of what the function was given, or is a container of such that was made
    after ``youngest``.
    """
    for case, atom in value.alternatives:
        if case.mask != EVERY_RANK or atom.per_rank:
            return False
        if isinstance(atom, Const | Sym):
            if not all(part in given or (isinstance(part, Obj) and part.kind in CONTAINERS) for part in atom.taint):
                return False
            continue
        if not isinstance(atom, Obj) or atom.kind not in CONTAINERS or not depth or atom.uid <= youngest:
            return False
        if not all(_says_nothing(inner, given, youngest, depth - 1) for inner in atom.attrs.values()):
            return False
    return True
