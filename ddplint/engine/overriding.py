"""Defaults, and what is set over them by names that are not seen: those of a file or of a command line."""

from __future__ import annotations

import ast

from ddplint.engine import facts
from ddplint.engine.machine import Machine
from ddplint.engine.names import hints_rank
from ddplint.engine.values import Class, Const, Obj, Sym, Value

_CALCULATED = (facts.Collective, facts.Compared, facts.Draw, facts.Forward, facts.KeyOf, facts.PartOf, facts.StateDict,
               facts.Weights)  # fmt: skip
"""What nobody's settings are made of."""

_SETTINGS = ("dict", "namespace", "instance")
"""What settings may be kept in."""

_DEEPEST = 5
"""How many levels of a configuration are gone through."""


def set_unseen(m: Machine, thing: Obj | Class, name: Value | None = None, value: Value | None = None) -> None:
    """Something is set in ``thing`` under a name that is not seen: each constant in it is a default, no more.

    ``name`` and ``value``: what is known of them. What is made, a batch, and what follows from one are no settings.
    """
    if all(given is None or is_setting(given) for given in (name, value)):
        _defaults(m, thing, 0)


def is_setting(value: Value) -> bool:
    """Whether it may come from a file of settings or from a command line."""
    return all(isinstance(atom, Const | Sym) for atom in value.atoms()) and not any(
        isinstance(part, _CALCULATED) or (isinstance(part, Obj) and part.kind not in _SETTINGS) for part in value.taint
    )


def is_of_names(call: ast.AST | None) -> bool:
    """Whether it is ``x.__dict__.method()`` or ``vars(x).method()``."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")))):
            return True
    return False


def update_names(m: Machine, thing: Obj, content: Value) -> None:
    """``thing.__dict__.update(content)``."""
    for atom in content.within(m.path).atoms():
        if isinstance(atom, Obj) and atom.kind == "dict":
            for name, value in list(atom.attrs.items()):
                if name.startswith("['"):
                    m.write(thing.attrs, name[2:-2], value)
            if not atom.notes.get("loose"):
                continue
        override(m, thing)


def override(m: Machine, thing: Obj) -> None:
    """A whole configuration is put over ``thing``, with entries of its entries."""
    _defaults(m, thing, _DEEPEST)


def override_names(m: Machine, names: dict[str, Value], owner: str) -> None:
    """What is not seen may set any of ``names``, which are those of ``owner``."""
    for name, value in list(names.items()):
        if _is_default(name, value):
            unknown = Sym(f"setting {name} of {owner}", ranked=hints_rank(name))
            found = ((case, unknown if isinstance(atom, Const) else atom) for case, atom in value.alternatives)
            m.write(names, name, Value(tuple(found)))


def _defaults(m: Machine, thing: Obj | Class, depth: int) -> None:
    cls = thing if isinstance(thing, Class) else thing.cls
    for base in cls.mro() if isinstance(cls, Class) else ():
        for name, value in base.attrs.items() if isinstance(base, Class) else ():
            if name not in thing.attrs and _is_default(name, value):
                m.write(thing.attrs, name, value)
    inner = [atom for value in thing.attrs.values() for atom in value.atoms()] if depth else []
    override_names(m, thing.attrs, thing.key)
    for atom in inner:
        if isinstance(atom, Obj) and atom.kind in _SETTINGS:
            _defaults(m, atom, depth - 1)


def _is_default(name: str, value: Value) -> bool:
    return not name.startswith("__") and any(isinstance(atom, Const) for atom in value.atoms())
