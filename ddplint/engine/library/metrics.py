"""The metrics of torchmetrics: ``compute`` puts together what the ranks have seen."""

from __future__ import annotations

from dataclasses import replace

from ddplint.engine.values import AGREED, Atom, Class, Lib, Obj, Sym, Value


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
