"""The metrics of torchmetrics: ``compute`` puts together what the ranks have seen."""

from __future__ import annotations

import ast
from dataclasses import replace

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.machine import Machine
from ddplint.engine.values import AGREED, FALSE, NONE, TRUE, Atom, Class, Lib, Obj, Sym, Value

_SAYS_HOW = frozenset({"sync_on_compute", "dist_sync_fn", "process_group", "distributed_available_fn"})
"""Keywords of a metric that say how, or whether, it puts together what the ranks have seen."""
_KEEPS = frozenset({"compute", "to", "cpu", "cuda", "eval", "train"})
"""Methods behind which a metric still gives what it gave before."""


def metric(name: str, made: Sym, args: Arguments) -> Sym:
    """A metric that a class of torchmetrics makes; one that is told how to put things together is not known as such."""
    told = args.more or not _SAYS_HOW.isdisjoint(args.keywords)
    return replace(made, text=f"own {made.text}") if name.startswith("torchmetrics.") and told else made


def used(m: Machine, thing: Sym, name: str, node: ast.AST | None) -> None:
    """Note that a method of a metric is called: ``compute`` is a call of all ranks, unless it gave its value before."""
    if not thing.text.startswith("torchmetrics.") or node is None:
        return
    given = f"{thing.text}.given"
    if name == "compute":
        before = m.sym_attrs.get(given, FALSE).within(m.path)
        if any(atom != TRUE.only for atom in before.atoms()):
            m.record(facts.Collective, node, name=name, tensors=NONE, group=None)
        m.write(m.sym_attrs, given, TRUE)
    elif name not in _KEEPS:
        m.write(m.sym_attrs, given, FALSE)


def puts_together(thing: Atom, name: str) -> bool:
    """Whether a method of an object gives what all ranks have seen."""
    if name != "compute":
        return False
    if isinstance(thing, Sym):
        return thing.text.startswith("torchmetrics.")
    bases = thing.cls.mro() if isinstance(thing, Obj) and isinstance(thing.cls, Class) else ()
    return any(isinstance(base, Lib) and base.name.startswith("torchmetrics.") for base in bases)


def agreed(value: Value) -> Value:
    """The value, as one that all ranks have."""
    return Value(
        tuple(
            (case, replace(atom, made_of=atom.made_of | {AGREED}) if isinstance(atom, Sym) else atom)
            for case, atom in value.alternatives
        )
    )
