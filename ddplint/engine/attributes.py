"""What ``x.name`` is, of an object, a class, a module or something unknown."""

from __future__ import annotations

import ast
from typing import Any

from ddplint.engine import facts, library
from ddplint.engine.arguments import Arguments
from ddplint.engine.declared import ON_ONE_RANK
from ddplint.engine.gradients import sizes, without_graph
from ddplint.engine.importing import module_member
from ddplint.engine.machine import Machine
from ddplint.engine.members import _is_classmethod, bind, is_property, method
from ddplint.engine.names import hints_rank
from ddplint.engine.overriding import is_of_names
from ddplint.engine.values import (
    Atom,
    Bound,
    Class,
    Const,
    Func,
    Lib,
    ModuleRef,
    Obj,
    Ranked,
    Super,
    Sym,
    Value,
    blend,
    const,
    element_name,
    one,
    union,
)

_ALIKE = frozenset({"requires_grad", "dtype", "ndim", "is_leaf", "is_cuda", "grad_fn"})
"""What tensors of one place in the program have in common, whatever they hold."""

_SIZES = frozenset({"shape", "ndim", "nbytes", "itemsize"})
"""What tells how large a tensor is, and nothing of its graph."""


def attribute(m: Machine, base: Value, name: str, node: ast.AST | None) -> Value:
    """``base.name``."""
    return m.choose(base, lambda atom: attribute_of(m, atom, name, node))


def attribute_of(m: Machine, atom: Atom, name: str, node: ast.AST | None) -> Value:
    """What one thing has under a name."""
    match atom:
        case Lib(full):
            stored = m.sym_attrs.get(f"{full}.{name}")
            if stored is not None:
                return stored
            return library.named(m, f"{full}.{name}")
        case ModuleRef():
            return module_member(m, atom, name)
        case Obj():
            return _object_attribute(m, atom, name, node)
        case Class():
            if m.declared is not None and m.declared.is_predicate(atom, name):
                return ON_ONE_RANK
            if name == "__name__":
                return const(atom.name)
            found = atom.lookup(name)
            if found is None:
                return one(Sym(f"{atom.key}.{name}", ranked=hints_rank(name), opaque=atom.opaque_base))
            return Value(
                tuple(
                    (case, Bound(atom, a.name, a) if isinstance(a, Func) and _is_classmethod(a) else a)
                    for case, a in found.alternatives
                )
            )
        case Super(owner, me):
            return _super_attribute(owner, me, name)
        case Bound() | Func() if name == "__name__":
            return const(atom.name)
        case Bound() if name == "__self__":
            return one(atom.self)
        case Sym():
            stored = m.sym_attrs.get(f"{atom.text}.{name}")
            if stored is not None:
                value = stored.within(m.path)
                if value.alternatives:
                    return value
            if _is_called(node):
                return one(Bound(atom, name, None))
            return one(
                Sym(
                    blend(f".{name}", [one(atom)]).text if len(atom.text) > 100 else f"{atom.text}.{name}",
                    (atom.ranked and name not in _ALIKE) or hints_rank(name),
                    atom.counter,
                    atom.opaque,
                    _kept(name, atom.made_of),
                )
            )
        case Const() | Ranked():
            return one(Bound(atom, name, None))
        case _:
            return one(Sym(f"{atom.key}.{name}", opaque=True, made_of=atom.taint))


def _kept(name: str, made_of: frozenset[Any]) -> frozenset[Any]:
    """What an attribute of something made of these is made of."""
    if name in ("device", "dtype"):
        return frozenset()
    if name in _SIZES:
        return sizes(made_of)
    if name == "data" or name in _ALIKE:
        return without_graph(made_of)
    return _without_parts(made_of)


def _without_parts(made_of: frozenset[Any]) -> frozenset[Any]:
    """What something is made of that only tells something about an entry of a state dict."""
    return frozenset(part for part in made_of if not isinstance(part, facts.PartOf))


def _object_attribute(m: Machine, thing: Obj, name: str, node: ast.AST | None) -> Value:
    if m.declared is not None and m.declared.is_predicate(thing.cls, name):
        return ON_ONE_RANK
    if name in thing.attrs:
        value = thing.attrs[name].within(m.path)
        if value.alternatives:
            if value.constant() is None and (left := library.left_by_forward(m, thing, name)) is not None:
                return left
            return value
    if thing.kind == "dict" and (entry := thing.attrs.get(element_name(name))) is not None:
        # of those whose entries are attributes too
        return entry.within(m.path)
    if name == "no_sync" and thing.kind == "ddp" and node is not None and not _is_called(node):
        return one(m.new("nosyncer", node, wrapper=thing))
    if (special := library.attribute(m, thing, name)) is not None:
        return special
    if thing.kind == "optimizer" and name in ("step", "zero_grad", "state_dict", "load_state_dict"):
        return one(Bound(thing, name, None))
    if isinstance(thing.cls, Class):
        found = thing.cls.lookup(name)
        if found is not None:
            results = []
            for case, atom in found.alternatives:
                if isinstance(atom, Func) and is_property(atom):
                    results.append(m.apply(one(Bound(thing, name, atom)), Arguments([]), node))
                else:
                    results.append(bind(Value(((case, atom),)), thing, thing.cls))
            return union(results)
        if name == "__class__":
            return one(thing.cls)
    if name == "__dict__" and thing.kind in ("instance", "namespace", "module"):
        return one(thing)
    if library.has_method(thing, name) or (name == "update" and is_of_names(node)):
        return one(Bound(thing, name, None))
    if isinstance(thing.cls, Lib) and thing.cls.name == "torch.nn.ModuleDict":
        # its entries are attributes too
        if (exact := thing.attrs.get(element_name(name))) is not None:
            return exact.within(m.path)
        entries = [value for key, value in thing.attrs.items() if key.startswith("[") or key == "*"]
        if entries:
            return union(entries).within(m.path)
    if isinstance(thing.cls, Class) and (getter := method(thing, "__getattr__")) is not None:
        return m.apply(getter, Arguments([const(name)]), node)
    if thing.kind == "namespace":
        return library.option(m, thing, name)
    if isinstance(thing.cls, Class) and thing.kind in ("module", "ddp", "loader", "sampler", "instance", "optimizer"):
        if any(isinstance(c, Lib) for c in thing.cls.mro()):
            return one(Bound(thing, name, None)) if _is_called(node) else _unknown_attribute(m, thing, name)
        return _unknown_attribute(m, thing, name)
    return one(Bound(thing, name, None)) if _is_called(node) else _unknown_attribute(m, thing, name)


def _is_called(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call)


def _unknown_attribute(m: Machine, thing: Obj, name: str) -> Value:
    if (left := library.left_by_forward(m, thing, name)) is not None:
        return left
    return one(Sym(f"{thing.key}.{name}", ranked=hints_rank(name), opaque=True))


def _super_attribute(owner: Class, me: Atom, name: str) -> Value:
    cls = me.cls if isinstance(me, Obj) and isinstance(me.cls, Class) else me if isinstance(me, Class) else owner
    seen = False
    for step in cls.mro():
        if step is owner:
            seen = True
            continue
        if seen and isinstance(step, Class) and name in step.attrs:
            return bind(step.attrs[name], me, step)
    return one(Bound(Super(owner, me), name, None))
