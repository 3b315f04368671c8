"""What an expression may be, and what evaluating it does."""

from __future__ import annotations

import ast
import contextlib
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ddplint.engine import facts, library
from ddplint.engine.calls import Arguments, apply, exact_elements, invoke, iterate, spread
from ddplint.engine.conditions import ALWAYS, EVERY_RANK, NEVER, WORLD, Case, Key, Path, conjoin, disjoin, fact
from ddplint.engine.machine import Machine, relative
from ddplint.engine.names import canonical, hints_rank
from ddplint.engine.values import (
    FALSE,
    FOLDING_ERRORS,
    NONE,
    NOTHING,
    Alternative,
    Atom,
    Bound,
    Class,
    Const,
    Func,
    Lib,
    ModuleRef,
    Obj,
    Partial,
    Ranked,
    Super,
    Sym,
    Value,
    blend,
    boolean,
    const,
    one,
    per_rank_values,
    spelled,
    split,
    truth,
    under,
    union,
)

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.NotEq: ast.Eq,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
}
_LONGEST_TEXT = 400
_WIDE = re.compile(r"%[-+ #0]*(?:\d{4}|\d*\.\d{4})")
"""A conversion in a format that is a thousand characters wide or more."""
_ALIKE = frozenset({"requires_grad", "dtype", "ndim", "is_leaf", "is_cuda", "grad_fn"})
"""What tensors of one place in the program have in common, whatever they hold."""
_LARGEST = 100
"""How many elements of a display are looked at."""


def evaluate(m: Machine, node: ast.expr) -> Value:
    """What an expression can be on the present path."""
    match node:
        case ast.Constant(literal):
            return const(literal)
        case ast.Name(name):
            return lookup(m, name)
        case ast.Attribute():
            return attribute(m, m.evaluate(node.value), node.attr, node)
        case ast.Call():
            return invoke(m, node)
        case ast.Tuple(elements) | ast.List(elements) | ast.Set(elements):
            return _sequence(m, node, elements)
        case ast.Dict():
            return _dict(m, node)
        case ast.Subscript():
            return _subscript(m, node)
        case ast.BoolOp():
            return _boolop(m, node)
        case ast.UnaryOp():
            return _unary(m, node)
        case ast.BinOp():
            return binary(m, node.op, m.evaluate(node.left), m.evaluate(node.right))
        case ast.Compare():
            return _compare(m, node)
        case ast.IfExp():
            return _ifexp(m, node)
        case ast.Lambda():
            return function(m, node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(m, node)
        case ast.JoinedStr(values):
            return _joined(m, values)
        case ast.NamedExpr():
            value = m.evaluate(node.value)
            assign(m, node.target, value)
            return value
        case ast.Starred():
            return m.evaluate(node.value)
        case ast.Await():
            return m.evaluate(node.value)
        case ast.Yield():
            value = m.evaluate(node.value) if node.value is not None else NONE
            return _yield(m, value)
        case ast.YieldFrom():
            source = m.evaluate(node.value)
            iterate(m, node, node.value, source, lambda element: _yield(m, element))
            return NONE
        case _:
            return one(Sym(type(node).__name__))


def _yield(m: Machine, value: Value) -> Value:
    frame = m.frame
    frame.yielded.append(value)
    if frame.on_yield is not None and m.path:
        return frame.on_yield(value)
    return one(Sym("sent"))


# --------------------------------------------------------------------- names


def lookup(m: Machine, name: str) -> Value:
    """What a name stands for: here, in the module, in a library or among the built-ins."""
    frame = m.frame
    if name in frame.globals:
        scopes: tuple[dict[str, Value], ...] = (frame.home.names,)
    else:
        scopes = frame.scopes
    for scope in reversed(scopes):
        if name in scope:
            value = scope[name].within(m.path)
            if value.alternatives:
                return value
    found = m.member(frame.home, name)
    if found is not None:
        return found
    for star in frame.home.library_stars:
        if known := library.star(star, name):
            return one(Lib(known))
    return library.builtin(name)


def assign(m: Machine, target: ast.expr, value: Value) -> None:
    """Bind a target to a value: a name, an attribute, an element, or several of them."""
    match target:
        case ast.Name(name):
            frame = m.frame
            if name in frame.globals:
                m.member(frame.home, name)
                m.write(frame.home.names, name, value)
            elif name in frame.nonlocals:
                scope = next((s for s in reversed(frame.scopes[:-1]) if name in s), frame.names)
                m.write(scope, name, value)
            else:
                m.write(frame.names, name, value)
        case ast.Attribute():
            _set_attribute(m, m.evaluate(target.value), target.attr, value, target)
        case ast.Subscript():
            _set_item(m, target, value)
        case ast.Tuple(elements) | ast.List(elements):
            starred = next((i for i, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
            for number, element in enumerate(elements):
                if isinstance(element, ast.Starred):
                    assign(m, element.value, one(blend("rest", [value])))
                elif starred is not None and number > starred:
                    assign(m, element, item(m, value, const(number - len(elements))))
                else:
                    assign(m, element, item(m, value, const(number)))
        case ast.Starred():
            assign(m, target.value, value)
        case _:
            pass


def _set_attribute(m: Machine, base: Value, name: str, value: Value, node: ast.AST) -> None:
    things: dict[Atom, list[Case]] = {}
    for case, atom in base.within(m.path).alternatives:
        things.setdefault(atom, []).append(case)
    for atom, cases in things.items():
        if isinstance(atom, Obj):
            old = atom.attrs.get(name)
            if old is None and (old := _unset(m, atom, name)) is not None:
                atom.attrs[name] = old
            new = value
            if len(things) > 1 and old is not None:
                new = union([under(value, tuple(cases)), old])
            m.write(atom.attrs, name, new)
            library.attribute_was_set(m, atom, name, value, node)
        elif isinstance(atom, Sym):
            if f"{atom.text}.{name}" not in m.sym_attrs:
                m.sym_attrs[f"{atom.text}.{name}"] = _attribute(m, atom, name, None)
            m.write(m.sym_attrs, f"{atom.text}.{name}", value)
        elif isinstance(atom, ModuleRef):
            m.write(atom.names, name, value)
        elif isinstance(atom, Class):
            m.write(atom.attrs, name, value)
        elif isinstance(atom, Lib):
            m.write(m.sym_attrs, f"{atom.name}.{name}", value)


def _unset(m: Machine, thing: Obj, name: str) -> Value | None:
    """What an attribute is before anybody sets it, on the paths on which nobody does."""
    if thing.kind == "namespace":
        return library.option(m, thing, name)
    found = thing.cls.lookup(name) if isinstance(thing.cls, Class) else None
    return found if found is not None and not any(isinstance(atom, Func) for atom in found.atoms()) else None


def _set_item(m: Machine, target: ast.Subscript, value: Value) -> None:
    base = m.evaluate(target.value)
    index = m.evaluate(target.slice) if not isinstance(target.slice, ast.Slice) else one(Sym("slice", opaque=False))
    for atom in base.within(m.path).atoms():
        if isinstance(atom, Obj):
            set_element(m, atom, index, value)
        elif isinstance(atom, Sym):
            m.write(m.sym_attrs, f"{atom.text}[{index.key}]", value)
    if index.per_rank and isinstance(target.value, ast.Name) and target.value.id in m.frame.names:
        if all(isinstance(atom, Sym) for atom in base.atoms()):
            # a tensor that each rank fills at places of its own
            m.write(m.frame.names, target.value.id, one(blend("filled", [base, index])))


def set_element(m: Machine, thing: Obj, index: Value, value: Value) -> None:
    """``thing[index] = value`` for a container (or an instance with a ``__setitem__``)."""
    literal = index.constant()
    if literal is not ... and isinstance(literal, str | int):
        m.write(thing.attrs, element_name(literal), value)
        return
    for key in index.taint:
        if isinstance(key, facts.KeyOf) and all(key in atom.taint for atom in index.atoms()):
            if key.state.how not in ("named_parameters", "named_buffers") or facts.PartOf(key.state) in value.taint:
                thing.notes.setdefault("states", set()).add(key.state)
    for atom in index.atoms():
        # one of several known entries
        if isinstance(atom, Const) and (entry := thing.attrs.get(element_name(atom.value))) is not None:
            m.write(thing.attrs, element_name(atom.value), union([entry, value]))
    old = thing.attrs.get("*")
    m.write(thing.attrs, "*", union([old, value]) if old is not None else value)
    thing.notes["loose"] = True
    if index.per_rank:
        thing.notes["per_rank_keys"] = True


def element_name(literal: Any) -> str:
    """The attribute under which a container keeps the element with this index or key."""
    return f"[{literal!r}]"


def _sequence(m: Machine, node: ast.expr, elements: list[ast.expr]) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list" if isinstance(node, ast.List) else "set"
    made = m.new(kind, node)
    number = 0
    if len(elements) > _LARGEST:
        made.notes["loose"] = True
        elements = elements[:_LARGEST]
    for element in elements:
        if isinstance(element, ast.Starred):
            for value in spread(m, m.evaluate(element.value), made):
                made.attrs[element_name(number)] = value
                number += 1
            continue
        made.attrs[element_name(number)] = m.evaluate(element)
        number += 1
    return one(made)


def _dict(m: Machine, node: ast.Dict) -> Value:
    made = m.new("dict", node)
    pairs = list(zip(node.keys, node.values, strict=True))
    if len(pairs) > _LARGEST:
        made.notes["loose"] = True
        pairs = pairs[:_LARGEST]
    for key, value in pairs:
        content = m.evaluate(value)
        if key is None:
            merge_dict(m, made, content)
        else:
            set_element(m, made, m.evaluate(key), content)
    return one(made)


def merge_dict(m: Machine, made: Obj, content: Value) -> None:
    """Put the entries of ``content`` into the dictionary ``made``."""
    for atom in content.within(m.path).atoms():
        if isinstance(atom, Obj) and atom.kind in ("dict", "namespace", "instance"):
            for name, value in list(atom.attrs.items()):
                if name.startswith("[") or name == "*":
                    m.write(made.attrs, name, value)
                elif atom.kind == "namespace":
                    m.write(made.attrs, element_name(name), value)
            if atom.notes.get("loose") or atom.kind != "dict":
                made.notes["loose"] = True
            for state in atom.notes.get("states", ()):
                made.notes.setdefault("states", set()).add(state)
            if atom.kind == "namespace":
                made.notes["namespace"] = atom
        else:
            old = made.attrs.get("*")
            m.write(made.attrs, "*", union([old, one(atom)]) if old is not None else one(atom))
            made.notes["loose"] = True
            for part in atom.taint:
                if isinstance(part, facts.StateDict):
                    made.notes.setdefault("states", set()).add(part)


def _subscript(m: Machine, node: ast.Subscript) -> Value:
    base = m.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        bounds = [m.evaluate(part) for part in (node.slice.lower, node.slice.upper, node.slice.step) if part]
        if any(isinstance(atom, Class | Lib) for atom in base.atoms()):
            return base
        literal = base.constant()
        if isinstance(literal, str | bytes | tuple):
            return one(blend("slice", [base, *bounds]))
        sliced = blend("slice", [base, *bounds])
        kept = _own_share(sliced.made_of, any(bound.per_rank for bound in bounds))
        if (part := _exact_slice(m, node, base, node.slice)) is not None:
            return part
        same = [atom for atom in base.atoms() if isinstance(atom, Obj) and atom.kind == "list"]
        if same and not sliced.ranked:
            return base
        return one(Sym(sliced.text, sliced.ranked, sliced.counter, sliced.opaque, kept))
    index = m.evaluate(node.slice)
    if any(isinstance(atom, Class | Func) for atom in base.atoms()):
        return base
    return item(m, base, index)


def _own_share(made_of: frozenset[Any], by_rank: bool) -> frozenset[Any]:
    """What a part of a value is made of; a batch of which each rank takes its own part is no longer the loader's."""
    return frozenset(
        part
        for part in made_of
        if not isinstance(part, facts.KeyOf) and not (by_rank and isinstance(part, Obj) and part.kind == "loader")
    )


def _exact_slice(m: Machine, node: ast.Subscript, base: Value, bounds: ast.Slice) -> Value | None:
    """A slice between literals of a list that is known one by one."""
    elements = exact_elements(base)
    ends = [
        m.evaluate(part).constant() if part is not None else None for part in (bounds.lower, bounds.upper, bounds.step)
    ]
    if (
        not elements
        or not all(end is None or (isinstance(end, int) and end is not True) for end in ends)
        or ends[2] == 0
    ):
        return None
    made = m.new(base.only.kind, node)  # type: ignore[union-attr]
    for number, value in enumerate(elements[slice(*ends)]):
        made.attrs[element_name(number)] = value
    return one(made)


def item(m: Machine, base: Value, index: Value) -> Value:
    """``base[index]``."""
    literal = index.constant()

    def of(atom: Atom) -> Value:
        match atom:
            case Obj(kind="dict" | "list" | "tuple") if literal is ... and (known := _literals(index)):
                return _element_of_each(m, atom, known)
            case Obj(kind="dict" | "list" | "tuple" | "set" | "namespace"):
                return element(m, atom, literal, index)
            case Obj(kind="instance" | "module") if atom.cls is not None and isinstance(atom.cls, Class):
                if (getter := method(atom, "__getitem__")) is not None:
                    return apply(m, getter, Arguments([index]), None)
                return element(m, atom, literal, index)
            case Obj(kind="environ"):
                return library.environment(m, literal)
            case Obj(kind="loader"):
                return one(Sym(f"{atom.key}[]", made_of=frozenset({atom})))
            case Obj():
                return element(m, atom, literal, index)
            case Sym():
                stored = m.sym_attrs.get(f"{atom.text}[{index.key}]")
                if stored is not None:
                    value = stored.within(m.path)
                    if value.alternatives:
                        return value
                _look_up_by_key(m, atom, index)
                hinted = isinstance(literal, str) and hints_rank(literal)
                kept = _own_share(atom.made_of, index.per_rank)
                return one(
                    Sym(
                        blend("item", [one(atom), index]).text,
                        atom.ranked or index.per_rank or hinted,
                        atom.counter,
                        atom.opaque,
                        kept,
                    )
                )
            case Const(value):
                if literal is not ...:
                    try:
                        return const(value[literal])
                    except FOLDING_ERRORS:
                        return one(Sym(f"item of {atom.key}", opaque=False))
                return one(blend("item", [one(atom), index]))
            case Ranked():
                return one(Sym(f"item of {atom.key}", ranked=True))
            case Class() | Lib():
                return one(atom)
            case _:
                return one(blend("item", [one(atom), index]))

    return m.choose(base, of)


def _look_up_by_key(m: Machine, loaded: Sym, index: Value) -> None:
    """Record that what a file holds goes into a wrapper, where it is looked up by the wrapper's own keys."""
    if not any(isinstance(part, facts.Load) for part in loaded.made_of):
        return
    keys = [part for part in index.taint if isinstance(part, facts.KeyOf) and part.state.module.kind == "ddp"]
    for key in sorted(keys, key=lambda part: part.state.index):
        entry = library.entry_of_file(one(loaded))
        m.record(facts.LoadInto, key.state.site, module=key.state.module, made_of=loaded.made_of, entry=entry)


def _literals(index: Value) -> list[tuple[Case, Any]] | None:
    """The literals that an index is, each with its case, where it is a literal on every rank."""
    found: list[tuple[Case, Any]] = []
    for case, atom in index.alternatives:
        if isinstance(atom, Const):
            found.append((case, atom.value))
        elif isinstance(atom, Ranked):
            for value in dict.fromkeys(atom.values):
                mask = sum(1 << rank for rank, other in enumerate(atom.values) if other == value)
                if (both := case.both(Case(mask))) is not None:
                    found.append((both, value))
        else:
            return None
    return found


def _element_of_each(m: Machine, thing: Obj, known: list[tuple[Case, Any]]) -> Value:
    """What ranks find in a container that look under literals of their own."""
    found = []
    for case, literal in known:
        if path := conjoin(m.path, (case,)):
            before, m.path = m.path, path
            found.append(under(element(m, thing, literal, const(literal)), (case,)))
            m.path = before
    return union(found)


def element(m: Machine, thing: Obj, literal: Any, index: Value) -> Value:
    """An element of a container."""
    found: list[Value] = []
    if literal is not ... and isinstance(literal, str | int | type(None)):
        if isinstance(literal, int) and literal < 0 and not thing.notes.get("loose"):
            literal += sum(1 for name in thing.attrs if name.startswith("["))
        if (exact := thing.attrs.get(element_name(literal))) is not None:
            value = exact.within(m.path)
            if value.alternatives:
                return value
        if thing.kind == "namespace" and isinstance(literal, str):
            return attribute(m, one(thing), literal, None)
        if (namespace := thing.notes.get("namespace")) is not None and isinstance(literal, str):
            return attribute(m, one(namespace), literal, None)
    else:
        found += [value for name, value in thing.attrs.items() if name.startswith("[")]
    if "*" in thing.attrs:
        found.append(thing.attrs["*"])
    hinted = isinstance(literal, str) and hints_rank(literal)
    if found:
        value = union(found).within(m.path)
        if value.alternatives:
            # which of the entries this is cannot be seen, and its name speaks of ranks
            return one(Sym(f"{thing.key}[{index.key}]", ranked=True, made_of=value.taint)) if hinted else value
    if (factory := thing.notes.get("factory")) is not None:
        value = apply(m, one(factory), Arguments(), None)
        set_element(m, thing, index, value)
        return value
    states = thing.notes.get("states", ())
    return one(
        Sym(
            f"{thing.key}[{index.key}]",
            ranked=index.per_rank or hinted,
            opaque=True,
            made_of=frozenset(facts.PartOf(state) for state in states),
        )
    )


# ----------------------------------------------------------------- attributes


def method(thing: Obj, name: str) -> Value | None:
    """The project's method ``name`` of an object, bound to it."""
    if isinstance(thing.cls, Class) and (found := thing.cls.lookup(name)) is not None:
        return bind(found, thing, thing.cls)
    return None


def bind(value: Value, thing: Atom, cls: Class) -> Value:
    """A member of a class as its instance ``thing`` has it: functions become methods."""
    bound: list[Alternative] = []
    for case, atom in value.alternatives:
        if isinstance(atom, Func) and not _is_static(atom):
            owner: Atom = cls if _is_classmethod(atom) else thing
            bound.append((case, Bound(owner, atom.name, atom)))
        else:
            bound.append((case, atom))
    return Value(tuple(bound))


def _decorated(func: Func, name: str) -> bool:
    return any(isinstance(a, Lib) and a.name == name for v in func.decorators for a in v.atoms())


def _is_static(func: Func) -> bool:
    return _decorated(func, "builtins.staticmethod")


def _is_classmethod(func: Func) -> bool:
    return _decorated(func, "builtins.classmethod")


def _is_property(func: Func) -> bool:
    return any(
        isinstance(a, Lib) and a.name in ("builtins.property", "functools.cached_property")
        for v in func.decorators
        for a in v.atoms()
    )


def attribute(m: Machine, base: Value, name: str, node: ast.AST | None) -> Value:
    """``base.name``."""
    return m.choose(base, lambda atom: _attribute(m, atom, name, node))


def _attribute(m: Machine, atom: Atom, name: str, node: ast.AST | None) -> Value:
    match atom:
        case Lib(full):
            stored = m.sym_attrs.get(f"{full}.{name}")
            if stored is not None:
                return stored
            return library.constant(f"{full}.{name}") or one(Lib(canonical(f"{full}.{name}")))
        case ModuleRef():
            return module_member(m, atom, name)
        case Obj():
            return _object_attribute(m, atom, name, node)
        case Class():
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
                    atom.made_of if name == "data" else _without_parts(atom.made_of),
                )
            )
        case Const() | Ranked():
            return one(Bound(atom, name, None))
        case _:
            return one(Sym(f"{atom.key}.{name}", opaque=True, made_of=atom.taint))


def _without_parts(made_of: frozenset[Any]) -> frozenset[Any]:
    """What something is made of that only tells something about an entry of a state dict."""
    return frozenset(part for part in made_of if not isinstance(part, facts.PartOf))


def _object_attribute(m: Machine, thing: Obj, name: str, node: ast.AST | None) -> Value:
    if name in thing.attrs:
        value = thing.attrs[name].within(m.path)
        if value.alternatives:
            if value.constant() is None and (left := library.left_by_forward(thing, name)) is not None:
                return left
            return value
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
                if isinstance(atom, Func) and _is_property(atom):
                    results.append(apply(m, one(Bound(thing, name, atom)), Arguments([]), node))
                else:
                    results.append(bind(Value(((case, atom),)), thing, thing.cls))
            return union(results)
        if name == "__class__":
            return one(thing.cls)
        if name == "__dict__":
            return one(thing)
    if library.has_method(thing, name):
        return one(Bound(thing, name, None))
    if isinstance(thing.cls, Lib) and thing.cls.name == "torch.nn.ModuleDict":
        # its entries are attributes too
        if (exact := thing.attrs.get(element_name(name))) is not None:
            return exact.within(m.path)
        entries = [value for key, value in thing.attrs.items() if key.startswith("[") or key == "*"]
        if entries:
            return union(entries).within(m.path)
    if isinstance(thing.cls, Class) and (getter := method(thing, "__getattr__")) is not None:
        return apply(m, getter, Arguments([const(name)]), node)
    if thing.kind == "namespace":
        return library.option(m, thing, name)
    if isinstance(thing.cls, Class) and thing.kind in ("module", "ddp", "loader", "sampler", "instance", "optimizer"):
        if any(isinstance(c, Lib) for c in thing.cls.mro()):
            return one(Bound(thing, name, None)) if _is_called(node) else _unknown_attribute(thing, name)
        return _unknown_attribute(thing, name)
    return one(Bound(thing, name, None)) if _is_called(node) else _unknown_attribute(thing, name)


def _is_called(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call)


def _unknown_attribute(thing: Obj, name: str) -> Value:
    if (left := library.left_by_forward(thing, name)) is not None:
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


def module_member(m: Machine, ref: ModuleRef, name: str) -> Value:
    """What a name of a module of the project stands for, seen from outside."""
    found = m.member(ref, name)
    if found is not None:
        return found
    if (path := m.project.submodule(ref.path, name)) is not None and path != ref.path:
        return import_path(m, path)
    for star in ref.library_stars:
        if known := library.star(star, name):
            return one(Lib(known))
    return one(Sym(f"{ref.key}.{name}", ranked=hints_rank(name)))


# --------------------------------------------------------- what imports bind


def import_path(m: Machine, path: str) -> Value:
    """The module at a path."""
    return one(m.module(path))


def imported(m: Machine, node: ast.Import | ast.ImportFrom) -> None:
    """Bind what an import statement binds."""
    here = m.frame.home.path
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = m.project.resolve(here, alias.name)
            if alias.asname:
                value = import_path(m, path) if path else one(Lib(canonical(alias.name)))
                m.write(m.frame.names, alias.asname, value)
                continue
            first = alias.name.split(".")[0]
            root = m.project.resolve(here, first)
            if path and root:
                import_path(m, path)
                m.write(m.frame.names, first, import_path(m, root))
            elif path is None:
                m.write(m.frame.names, first, one(Lib(canonical(first))))
        return
    source = m.project.resolve(here, node.module or "", node.level)
    for alias in node.names:
        if alias.name == "*":
            _import_star(m, node, source)
            continue
        if source is not None:
            ref = import_path(m, source)
            value = m.choose(ref, partial(_imported_from, m, alias.name))
        elif node.level:
            value = one(Sym(f"unreadable {node.module}.{alias.name}"))
        else:
            full = f"{node.module}.{alias.name}"
            value = library.constant(full) or one(Lib(canonical(full)))
        m.write(m.frame.names, alias.asname or alias.name, value)


def _imported_from(m: Machine, name: str, atom: Atom) -> Value:
    return module_member(m, atom, name) if isinstance(atom, ModuleRef) else one(Sym(f"{atom.key}.{name}"))


def _import_star(m: Machine, node: ast.ImportFrom, source: str | None) -> None:
    home = m.frame.home
    if source is None:
        if not node.level and node.module:
            home.library_stars.append(node.module)
        return
    ref = m.module(source)
    if ref is not home:
        home.project_stars.insert(0, ref)


# ------------------------------------------------------------------ operators


def binary(m: Machine, op: ast.operator, left: Value, right: Value) -> Value:
    """``left op right``, each pair of alternatives under the case both hold in."""
    results = []
    alternatives = [(a, b) for a in left.within(m.path).alternatives for b in right.within(m.path).alternatives]
    if len(alternatives) > 12 or not alternatives:
        return one(blend(type(op).__name__, [left, right]))
    for (case, a), (other, b) in alternatives:
        both = case.both(other)
        if both is None:
            continue
        results.append(under(_binary(m, op, a, b), (both,)))
    return union(results) if results else one(blend(type(op).__name__, [left, right]))


def _binary(m: Machine, op: ast.operator, left: Atom, right: Atom) -> Value:
    name = type(op).__name__
    calculate = _OPERATORS.get(type(op))
    if isinstance(op, ast.Mod) and right == Const(1) and isinstance(left, Sym):
        return const(0)
    if calculate is not None and isinstance(left, Const) and isinstance(right, Const):
        if _small(left.value) and _small(right.value) and not _explodes(op, left.value, right.value):
            try:
                result = calculate(left.value, right.value)
            except FOLDING_ERRORS:
                return one(Sym(f"{name}({left.key}, {right.key})", opaque=False))
            if _small(result):
                return one(Const(result, left.soft or right.soft))
        return one(Sym(blend(name, [one(left), one(right)]).text, opaque=False))
    if calculate is not None and isinstance(left, Ranked | Const) and isinstance(right, Ranked | Const):
        a, b = per_rank_values(left), per_rank_values(right)
        if a is not None and b is not None:
            results: list[Any] = []
            with contextlib.suppress(*FOLDING_ERRORS):
                if not any(_explodes(op, x, y) for x, y in zip(a, b, strict=True)):
                    results = [calculate(x, y) for x, y in zip(a, b, strict=True)]
            if results and all(_small(result) for result in results):
                return _ranked(results, left, right)
            return one(Sym(f"{name}({left.key}, {right.key})", ranked=True, opaque=False))
    if isinstance(op, ast.Add | ast.BitOr) and isinstance(left, Obj) and left.kind in ("list", "tuple", "dict", "set"):
        joined = m.new(left.kind, left.site)
        for source in (left, right):
            if isinstance(source, Obj) and source.kind == left.kind:
                for key, value in source.attrs.items():
                    if left.kind == "dict":
                        joined.attrs[key] = value
                    else:
                        joined.attrs[element_name(len(joined.attrs))] = value
                joined.notes["loose"] = bool(joined.notes.get("loose") or source.notes.get("loose"))
            else:
                joined.attrs["*"] = one(source)
                joined.notes["loose"] = True
        return one(joined)
    if (
        isinstance(op, ast.Mod)
        and isinstance(right, Obj)
        and right.kind in ("tuple", "dict")
        and isinstance(left, Const | Sym)
    ):
        # what is put into a text, one by one
        return one(_filled_in(left, list(right.attrs.values())))
    if isinstance(op, ast.Div) and isinstance(left, Obj) and left.kind == "path":
        return one(m.new("path", left.site, value=one(blend("/", [left.notes["value"], one(right)]))))
    if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        return one(_filled_in(left, [one(right)]))
    made = blend(name, [one(left), one(right)])
    return one(facts.begun_by(made, one(left)) if isinstance(op, ast.Add) else made)


def _filled_in(text: Const | Sym, values: list[Value]) -> Sym:
    """``text % values``."""
    made = blend("Mod", [one(text), *values])
    first = values[0] if values and isinstance(text, Const) and str(text.value).startswith("%s") else None
    return facts.begun_by(made, first)


def _ranked(values: list[Any], *sources: Atom) -> Value:
    roles = [source.role for source in sources if isinstance(source, Ranked)]
    return one(Ranked(tuple(values), roles[0] if roles else "rank"))


def _small(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return len(value) < _LONGEST_TEXT
    return isinstance(value, bool | int | float | None) and (not isinstance(value, int) or abs(value) < 1 << 64)


def _explodes(op: ast.operator, left: Any, right: Any) -> bool:
    """Whether ``left op right`` may be a text far longer than what it is made of."""
    if isinstance(op, ast.Mult):
        for text, times in ((left, right), (right, left)):
            if isinstance(text, str | bytes) and isinstance(times, int) and len(text) * times >= _LONGEST_TEXT:
                return True
    if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
        pattern = left if isinstance(left, str) else left.decode("latin-1")
        return _WIDE.search(pattern) is not None
    return False


def _unary(m: Machine, node: ast.UnaryOp) -> Value:
    value = m.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        yes, no = split(value)
        return boolean(no, yes)
    literal = value.constant()
    if isinstance(node.op, ast.USub) and isinstance(literal, int | float):
        return const(-literal)
    return one(blend(type(node.op).__name__, [value]))


def _boolop(m: Machine, node: ast.BoolOp) -> Value:
    results: list[Value] = []

    def step(number: int) -> None:
        value = m.evaluate(node.values[number])
        if number == len(node.values) - 1:
            results.append(under(value, relative(m.path, before)))
            return
        yes, no = split(value)
        stop, go_on = (no, yes) if isinstance(node.op, ast.And) else (yes, no)
        stopping = conjoin(m.path, stop)
        if stopping:
            kept = tuple(alt for alt in value.alternatives if _may(alt[1], isinstance(node.op, ast.Or)))
            results.append(under(Value(kept), conjoin(relative(m.path, before), stop)))
        if conjoin(m.path, go_on):
            m.fork([(go_on, lambda: step(number + 1)), (stop, lambda: None)])

    before = m.path
    step(0)
    m.path = before
    return union(results) if results else FALSE


def _may(atom: Atom, wanted: bool) -> bool:
    yes, no = truth(atom)
    return bool(yes if wanted else no)


def _ifexp(m: Machine, node: ast.IfExp) -> Value:
    yes, no = test(m, node.test)
    results: list[Value] = []

    def arm(expression: ast.expr, assumed: Path, holds: bool) -> Callable[[], None]:
        return narrowed(m, node.test, holds, lambda: results.append(under(m.evaluate(expression), assumed)))

    before = m.path
    m.fork([(yes, arm(node.body, yes, True)), (no, arm(node.orelse, no, False))])
    m.path = before
    return union(results) if results else NOTHING


def narrowed(m: Machine, node: ast.expr, holds: bool, run: Callable[[], None]) -> Callable[[], None]:
    """``run`` where the test ``node`` holds (or fails): what is tested is only what then passes (or fails) it.

    The paths say so too, but they forget some of their cases where there are many.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return narrowed(m, node.operand, not holds, run)
    match node:
        case ast.Call(func=ast.Name(id="hasattr"), args=[thing, ast.Constant(value=str(name))]):

            def passes(atom: Atom) -> bool | None:
                return library.has(atom, name)
        case ast.Call(func=ast.Name(id="isinstance"), args=[thing, cls]):
            wanted = library.classes(m.evaluate(cls))

            def passes(atom: Atom) -> bool | None:
                answers = [library.is_instance(atom, one) for one in wanted]
                return True if True in answers else None if None in answers else False
        case ast.Call(args=[thing]) | ast.Compare(left=ast.Call(func=ast.Name(id="type"), args=[thing])):
            place = _place(m, thing)
            if place is None or not _some_wrapped(place[0].get(place[1])):
                return run
            scope, known_as = place

            def passes(atom: Atom) -> bool | None:
                yes, no = m.suppose(scope, known_as, one(atom), lambda: test(m, node))
                return None if bool(yes) is bool(no) else bool(yes)
        case _:
            return run

    def inside() -> None:
        place = _place(m, thing)
        whole = place[0].get(place[1]) if place is not None else None
        if place is None or whole is None or len(whole.alternatives) < 2:
            run()
            return
        kept = Value(tuple((case, atom) for case, atom in whole.alternatives if passes(atom) is not (not holds)))
        if not kept.alternatives or len(kept.alternatives) == len(whole.alternatives):
            run()
            return
        m.write(*place, kept)
        run()
        if place[0].get(place[1]) is kept:
            m.write(*place, whole)

    return inside


def _some_wrapped(value: Value | None) -> bool:
    """Whether it may be a wrapper and may be something else."""
    return value is not None and len({isinstance(a, Obj) and a.kind == "ddp" for a in value.atoms()}) > 1


def _place(m: Machine, node: ast.expr) -> tuple[dict[str, Value], str] | None:
    """Where a local name or an attribute of one object is kept."""
    match node:
        case ast.Name(id=name) if name in m.frame.names:
            return m.frame.names, name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner = m.frame.names[name].only if name in m.frame.names else None
            if isinstance(owner, Obj) and attr in owner.attrs:
                return owner.attrs, attr
    return None


def test(m: Machine, node: ast.expr) -> tuple[Path, Path]:
    """The paths on which a test holds, and on which it does not."""
    match node:
        case ast.BoolOp(op, values):
            yes, no = test(m, values[0])
            for value in values[1:]:
                before = m.path
                more = conjoin(before, yes if isinstance(op, ast.And) else no)
                if not more:
                    break
                m.path = more
                then, otherwise = test(m, value)
                m.path = before
                if isinstance(op, ast.And):
                    no = disjoin(no, conjoin(yes, otherwise))
                    yes = conjoin(yes, then)
                else:
                    yes = disjoin(yes, conjoin(no, then))
                    no = conjoin(no, otherwise)
            return yes, no
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yes, no = test(m, operand)
            return no, yes
        case _:
            return split(m.evaluate(node))


def _compare(m: Machine, node: ast.Compare) -> Value:
    left = m.evaluate(node.left)
    result: Value | None = None
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = m.evaluate(comparator)
        answer = _compare_values(m, op, left, right)
        if result is None:
            result = answer
        else:
            yes, no = split(result)
            then, otherwise = split(answer)
            result = boolean(conjoin(yes, then), disjoin(no, conjoin(yes, otherwise)))
        left = right
    assert result is not None
    return result


def _compare_values(m: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    yes: Path = NEVER
    no: Path = NEVER
    pairs = [(a, b) for a in left.within(m.path).alternatives for b in right.within(m.path).alternatives]
    if len(pairs) > 40 or not pairs:
        ranked, counts = left.per_rank or right.per_rank, left.counter or right.counter
        key = Key(f"{type(op).__name__}({left.key}, {right.key})", ranked, counts)
        if counts:
            m.trace.asked.setdefault(key, len(m.frame.chain))
        return boolean(fact(key, True), fact(key, False))
    for (case, a), (other, b) in pairs:
        both = case.both(other)
        if both is None:
            continue
        then, otherwise = _compare_atoms(m, op, a, b)
        for key in [key for answer in then for key, _ in answer.facts if key.counts]:
            m.trace.asked.setdefault(key, len(m.frame.chain))
        yes = disjoin(yes, conjoin((both,), then))
        no = disjoin(no, conjoin((both,), otherwise))
    return boolean(yes, no)


def _compare_atoms(m: Machine, op: ast.cmpop, left: Atom, right: Atom) -> tuple[Path, Path]:
    if (opposite := _OPPOSITE.get(type(op))) is not None:
        no, yes = _compare_atoms(m, opposite(), left, right)  # type: ignore[arg-type]
        return yes, no
    calculate = _OPERATORS[type(op)]
    if isinstance(op, ast.In) and isinstance(right, Obj) and right.kind in ("list", "tuple", "set", "dict"):
        return _contained(m, left, right)
    if isinstance(op, ast.In) and isinstance(right, Obj) and right.kind == "environ":
        return library.in_environment(left)
    if isinstance(op, ast.In) and isinstance(right, Obj) and right.kind == "namespace":
        return ALWAYS, NEVER
    a, b = per_rank_values(left), per_rank_values(right)
    if a is not None and b is not None:
        try:
            return truth(Ranked(tuple(bool(calculate(x, y)) for x, y in zip(a, b, strict=True)), "rank"))
        except FOLDING_ERRORS:
            return fact(key := Key(f"{type(op).__name__}({left.key}, {right.key})"), True), fact(key, False)
    if library.DEVICES in (left, right) and any(isinstance(a, Const) and not a.soft for a in (left, right)):
        return _compare_devices(op, left, right)
    if isinstance(op, ast.Is | ast.Eq):
        if (isinstance(right, Const) and right.value is None) or (isinstance(left, Const) and left.value is None):
            other = left if isinstance(right, Const) and right.value is None else right
            if isinstance(other, Obj | Func | Class | Lib | Bound | Partial | ModuleRef | Ranked):
                return NEVER, ALWAYS
            if isinstance(other, Const):
                return (ALWAYS, NEVER) if other.value is None else (NEVER, ALWAYS)
            if (
                isinstance(other, Sym)
                and not other.opaque
                and any(not isinstance(p, facts.Load) for p in other.made_of)
            ):
                return NEVER, ALWAYS
            if isinstance(other, Sym) and _never_none(m, other):
                return NEVER, ALWAYS
        if left is right or left == right:
            return ALWAYS, NEVER
        if isinstance(left, Class | Lib) and isinstance(right, Class | Lib):
            return NEVER, ALWAYS
        if isinstance(left, Obj) and isinstance(right, Obj) and isinstance(op, ast.Is):
            return NEVER, ALWAYS
    first, second = sorted((left.key, right.key)) if isinstance(op, ast.Eq) else (left.key, right.key)
    symbol = blend(type(op).__name__, [one(left), one(right)])
    counts = symbol.counter or _is_counting(left) or _is_counting(right)
    text = f"{type(op).__name__}({first}, {second})"
    if len(text) > 300:
        text = symbol.text
    key = Key(text, symbol.ranked, counts)
    if isinstance(left, Obj) and left.kind == "instance" and isinstance(op, ast.Lt | ast.Gt | ast.Eq):
        key = Key(text, False, False)
    return fact(key, True), fact(key, False)


def _compare_devices(op: ast.cmpop, left: Atom, right: Atom) -> tuple[Path, Path]:
    """A test of how many devices there are: where only one can be meant, one rank a node is there."""

    def answer(devices: int) -> bool:
        a, b = (other.value if isinstance(other, Const) else devices for other in (left, right))
        try:
            return bool(_OPERATORS[type(op)](a, b))
        except FOLDING_ERRORS:
            return False

    first, second = sorted((left.key, right.key)) if isinstance(op, ast.Eq) else (left.key, right.key)
    several = {answer(devices) for devices in range(2, WORLD + 1)}
    key = Key(f"{type(op).__name__}({first}, {second})", lone=None if answer(1) in several else answer(1))
    return fact(key, True), fact(key, False)


_NUMBERS = ("Add(", "Sub(", "Mult(", "Div(", "FloorDiv(", "Mod(", "len(")


def _never_none(m: Machine, value: Sym) -> bool:
    """Whether it is the result of a calculation, or an option of the command line that has a default."""
    return value.text.startswith(_NUMBERS) or value.text in m.given_options


def _is_counting(atom: Atom) -> bool:
    return isinstance(atom, Sym) and atom.counter


def _contained(m: Machine, left: Atom, right: Obj) -> tuple[Path, Path]:
    if right.kind == "dict":
        if isinstance(left, Const):
            if element_name(left.value) in right.attrs:
                return ALWAYS, NEVER
            if not right.notes.get("loose"):
                return NEVER, ALWAYS
        key = Key(f"In({left.key}, {right.key})", left.per_rank)
        return fact(key, True), fact(key, False)
    yes, no = NEVER, ALWAYS
    for name, value in right.attrs.items():
        if name == "*":
            key = Key(f"In({left.key}, {right.key})", left.per_rank)
            then, otherwise = fact(key, True), fact(key, False)
        else:
            then, otherwise = split(_compare_values(m, ast.Eq(), one(left), value))
        yes = disjoin(yes, then)
        no = conjoin(no, otherwise)
    return yes, no


# ------------------------------------------------------------- other expressions


def _joined(m: Machine, values: list[ast.expr]) -> Value:
    parts = []
    for value in values:
        parts.append(m.evaluate(value.value if isinstance(value, ast.FormattedValue) else value))
    literals = [part.constant() for part in parts]
    if all(literal is not ... for literal in literals):
        text = "".join(str(literal) for literal in literals)
        if len(text) < _LONGEST_TEXT:
            return const(text)
    joined = blend("text", [inner for part in parts for inner in spelled(part)])
    kept = frozenset(part for part in joined.made_of if not isinstance(part, facts.PartOf))
    return one(facts.begun_by(Sym(joined.text, joined.ranked, joined.counter, joined.opaque, kept), parts[0]))


def function(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Value:
    """The function a definition makes, decorators applied."""
    frame = m.frame
    frame.captured = True
    defaults: dict[str, Value] = {}
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args]
    for parameter, default in zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True):
        defaults[parameter.arg] = m.evaluate(default)
    for parameter, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword_default is not None:
            defaults[parameter.arg] = m.evaluate(keyword_default)
    scopes = frame.scopes
    owner = frame.owner if frame.owner is not None and frame.func is None else None
    if owner is not None:
        scopes = scopes[:-1]  # a class body is no scope for its methods
    decorators = () if isinstance(node, ast.Lambda) else tuple(m.evaluate(d) for d in node.decorator_list)
    made = Func(node, frame.home, scopes, defaults, owner, decorators)
    value = one(made)
    for number, decorator in reversed(list(enumerate(decorators))):
        expression = node.decorator_list[number] if not isinstance(node, ast.Lambda) else node
        value = _decorate(m, decorator, value, expression)
    return value


def _decorate(m: Machine, decorator: Value, value: Value, node: ast.expr) -> Value:
    atom = decorator.only
    if isinstance(atom, Func | Bound | Partial) and not (isinstance(atom, Bound) and atom.func is None):
        result = apply(m, decorator, Arguments([value]), node)
        if any(isinstance(a, Func | Bound | Partial | Obj | Class) for a in result.atoms()):
            return result
    if isinstance(atom, Obj) and isinstance(atom.cls, Class) and method(atom, "__call__") is not None:
        result = apply(m, decorator, Arguments([value]), node)
        if any(isinstance(a, Func | Bound | Partial | Obj) for a in result.atoms()):
            return result
    if isinstance(atom, Class):
        return apply(m, decorator, Arguments([value]), node)
    return library.decorated(m, decorator, value)


def _comprehension(m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    made = m.new("dict" if isinstance(node, ast.DictComp) else "list", node)
    made.notes["loose"] = True
    names: dict[str, Value] = {}
    frame = m.frame
    old = frame.scopes
    frame.scopes = (*old, names)
    exact = True

    def inner(number: int) -> None:
        nonlocal exact
        if number == len(node.generators):
            if isinstance(node, ast.DictComp):
                key = m.evaluate(node.key)
                if key.constant() is ...:
                    exact = False
                set_element(m, made, key, m.evaluate(node.value))
            else:
                value = m.evaluate(node.elt)
                before = made.attrs.get("*")
                m.write(made.attrs, "*", union([before, value]) if before is not None else value)
            return
        generator = node.generators[number]
        frame.scopes = old if number == 0 else (*old, names)
        source = m.evaluate(generator.iter)
        frame.scopes = (*old, names)

        def body(element: Value) -> None:
            assign(m, generator.target, element)
            before = m.path
            for condition in generator.ifs:
                yes, _ = test(m, condition)
                if any(case.unsure or case.mask != EVERY_RANK for case in yes):
                    made.notes["per_rank"] = True
                m.path = conjoin(m.path, yes)
            if m.path:
                inner(number + 1)
            m.path = before

        iterate(m, generator.iter, generator.iter, source, body)

    try:
        inner(0)
    finally:
        frame.scopes = old
        if not frame.captured:
            m.forget(names)
    if isinstance(node, ast.DictComp) and exact and "*" not in made.attrs and made.attrs:
        made.notes["loose"] = False
    return one(made)


def pattern(m: Machine, node: ast.pattern, subject: Value) -> tuple[Path, Path, dict[str, Value]]:
    """When a ``case`` pattern matches, when not, and what it binds."""
    match node:
        case ast.MatchValue(value):
            yes, no = split(_compare_values(m, ast.Eq(), subject, m.evaluate(value)))
            return yes, no, {}
        case ast.MatchSingleton(value):
            yes, no = split(_compare_values(m, ast.Is(), subject, const(value)))
            return yes, no, {}
        case ast.MatchAs(pattern=inner, name=name):
            yes, no, bound = pattern(m, inner, subject) if inner is not None else (ALWAYS, NEVER, {})
            return yes, no, {**bound, **({name: subject} if name else {})}
        case ast.MatchOr(patterns):
            yes, no, bound = NEVER, ALWAYS, {}
            for option in patterns:
                then, otherwise, more = pattern(m, option, subject)
                yes = disjoin(yes, conjoin(no, then))
                no = conjoin(no, otherwise)
                bound |= more
            return yes, no, bound
        case ast.MatchSequence(patterns) if not any(isinstance(p, ast.MatchStar) for p in patterns):
            yes, no, bound = ALWAYS, NEVER, {}
            for number, part in enumerate(patterns):
                then, otherwise, more = pattern(m, part, item(m, subject, const(number)))
                no = disjoin(no, conjoin(yes, otherwise))
                yes = conjoin(yes, then)
                bound |= more
            return yes, no, bound
        case _:
            key = Key(f"{subject.key} matches at {m.frame.home.name}:{node.lineno}", subject.per_rank)
            names = {
                name: one(blend("matched", [subject]))
                for part in ast.walk(node)
                if (name := getattr(part, "name", None) or getattr(part, "rest", None)) and isinstance(name, str)
            }
            return fact(key, True), fact(key, False), names
