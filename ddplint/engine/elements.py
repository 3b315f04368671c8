"""Lists, dictionaries and other containers: what a display makes, what an index gives and what is put in."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ddplint.engine import facts, library
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.attributes import attribute
from ddplint.engine.calls import spread
from ddplint.engine.conditions import Case, conjoin
from ddplint.engine.machine import Machine
from ddplint.engine.members import method
from ddplint.engine.names import hints_rank
from ddplint.engine.ordering import mark_order, order_kept, ordered_by, shares, with_lots
from ddplint.engine.overriding import is_setting, override, set_unseen
from ddplint.engine.values import (
    FOLDING_ERRORS,
    PICKED,
    UNSEEN,
    Atom,
    Class,
    Const,
    Func,
    Lib,
    Obj,
    Ranked,
    Sym,
    Value,
    blend,
    const,
    element_name,
    one,
    under,
    union,
)

_LARGEST = 100
"""How many elements of a display are looked at."""


def set_item(m: Machine, target: ast.Subscript, value: Value) -> None:
    """``base[index] = value``."""
    base = m.evaluate(target.value)
    index = m.evaluate(target.slice) if not isinstance(target.slice, ast.Slice) else one(Sym("slice", opaque=False))
    by_rank = index.per_rank or any(bound.per_rank for bound in _bounds(m, target.slice))
    if by_rank:
        _put_back(m, target.value, base)
    for atom in base.within(m.path).atoms():
        if isinstance(atom, Obj):
            set_element(m, atom, index, value)
        elif isinstance(atom, Sym):
            m.write(m.sym_attrs, f"{atom.text}[{index.key}]", value)
    if index.per_rank and isinstance(target.value, ast.Name) and target.value.id in m.frame.names:
        if all(isinstance(atom, Sym) for atom in base.atoms()):
            # a tensor that each rank fills at places of its own
            m.write(m.frame.names, target.value.id, one(blend("filled", [base, index])))


def _bounds(m: Machine, index: ast.expr) -> list[Value]:
    """The bounds of a slice."""
    parts = (index.lower, index.upper, index.step) if isinstance(index, ast.Slice) else ()
    return [m.evaluate(part) for part in parts if part is not None]


def _put_back(m: Machine, node: ast.expr, base: Value) -> None:
    """Each rank sets its own part of what was gathered: the part that has a gradient."""
    for atom in base.atoms():
        if isinstance(atom, Obj) and (marks := atom.notes.get("marks")):
            atom.notes["marks"] = _without_collectives(marks)
    if isinstance(node, ast.Name) and node.id in m.frame.names and any(isinstance(a, Sym) for a in base.atoms()):
        kept = [
            (case, replace(atom, made_of=_without_collectives(atom.made_of)) if isinstance(atom, Sym) else atom)
            for case, atom in base.alternatives
        ]
        m.write(m.frame.names, node.id, Value(tuple(kept)))


def _without_collectives(made_of: frozenset[Any]) -> frozenset[Any]:
    if not any(isinstance(part, facts.Collective) for part in made_of):
        return made_of
    return frozenset(part for part in made_of if not isinstance(part, facts.Collective))


def set_element(m: Machine, thing: Obj, index: Value, value: Value) -> None:
    """``thing[index] = value`` for a container (or an instance with a ``__setitem__``)."""
    literal = index.constant()
    if literal is not ... and isinstance(literal, str | int):
        m.write(thing.attrs, element_name(literal), value)
        if isinstance(owner := thing.notes.get("owner"), Obj) and isinstance(literal, str):
            m.write(owner.attrs, literal, value)
        return
    for key in index.taint:
        if isinstance(key, facts.KeyOf) and all(key in atom.taint for atom in index.atoms()):
            if key.state.how not in ("named_parameters", "named_buffers") or facts.PartOf(key.state) in value.taint:
                thing.notes.setdefault("states", set()).add(key.state)
    for atom in index.atoms():
        # one of several known entries
        if isinstance(atom, Const) and (entry := thing.attrs.get(element_name(atom.value))) is not None:
            m.write(thing.attrs, element_name(atom.value), union([entry, value]))
    set_unseen(m, thing, index, value)
    old = thing.attrs.get("*")
    m.write(thing.attrs, "*", union([old, value]) if old is not None else value)
    thing.notes["loose"] = True
    if index.per_rank:
        thing.notes["per_rank_keys"] = True


def sequence(m: Machine, node: ast.expr, elements: list[ast.expr]) -> Value:
    """The tuple, list or set that a display makes."""
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


def dictionary(m: Machine, node: ast.Dict) -> Value:
    """The dictionary that a display makes."""
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
            if is_setting(one(atom)):
                override(m, made)
                if (owner := made.notes.get("owner")) is not None:
                    override(m, owner)
            old = made.attrs.get("*")
            m.write(made.attrs, "*", union([old, one(atom)]) if old is not None else one(atom))
            made.notes["loose"] = True
            for part in atom.taint:
                if isinstance(part, facts.StateDict):
                    made.notes.setdefault("states", set()).add(part)


def subscript(m: Machine, node: ast.Subscript) -> Value:
    """``base[index]`` and ``base[from:to]``."""
    base = m.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        bounds = _bounds(m, node.slice)
        if any(isinstance(atom, Class | Lib) for atom in base.atoms()):
            return base
        literal = base.constant()
        if isinstance(literal, str | bytes | tuple):
            return one(blend("slice", [base, *bounds]))
        sliced = blend("slice", [base, *bounds])
        kept = _own_share(order_kept(sliced.made_of, [base]), any(bound.per_rank for bound in bounds))
        if (part := _exact_slice(m, node, base, node.slice)) is not None:
            return part
        same = [atom for atom in base.atoms() if isinstance(atom, Obj) and atom.kind == "list"]
        if same and not sliced.ranked:
            return Value(tuple((case, _part_of(m, node, atom)) for case, atom in base.alternatives))
        return one(Sym(sliced.text, sliced.ranked, sliced.counter, sliced.opaque, kept))
    index = m.evaluate(node.slice)
    if any(isinstance(atom, Class | Func) for atom in base.atoms()):
        return base
    return item(m, base, index)


def _own_share(made_of: frozenset[Any], by_rank: bool) -> frozenset[Any]:
    """What a part of a value is made of; a batch of which each rank takes its own part is no longer the loader's."""
    kept = frozenset(
        part
        for part in made_of
        if not isinstance(part, facts.KeyOf) and not (by_rank and isinstance(part, Obj) and part.kind == "loader")
    )
    if not by_rank:
        return kept
    return _without_collectives(kept) | shares(kept)


def _part_of(m: Machine, node: ast.AST, whole: Atom) -> Atom:
    """A part of a list: what is done to it in place is not done to the whole."""
    if not isinstance(whole, Obj) or whole.kind != "list":
        return whole
    made = m.new("list", node, whole.cls)
    made.attrs.update(whole.attrs)
    made.notes.update({name: note for name, note in whole.notes.items() if name not in _OF_THE_WHOLE})
    mark_order(made, [one(whole)])
    return made


_OF_THE_WHOLE = frozenset({"chain", "loops", "worker", "picks"})


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
    mark_order(made, [base])
    for number, value in enumerate(elements[slice(*ends)]):
        made.attrs[element_name(number)] = value
    return one(made)


def item(m: Machine, base: Value, index: Value) -> Value:
    """``base[index]``."""
    index = with_lots(m.trace, index)
    literal = index.constant()

    def of(atom: Atom) -> Value:
        match atom:
            case Obj(kind="dict" | "list" | "tuple") if literal is ... and (known := _literals(index)):
                if index.per_rank and any(isinstance(a, Sym) for value in atom.attrs.values() for a in value.atoms()):
                    return element(m, atom, literal, index)
                return _element_of_each(m, atom, known)
            case Obj(kind="dict") if literal is ...:
                return _of_several(atom, element(m, atom, literal, index))
            case Obj(kind="dict" | "list" | "tuple" | "set" | "namespace"):
                return element(m, atom, literal, index)
            case Obj(kind="instance" | "module") if atom.cls is not None and isinstance(atom.cls, Class):
                if (getter := method(atom, "__getitem__")) is not None:
                    return m.apply(getter, Arguments([index]), None)
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
                kept = _own_share(atom.made_of | ordered_by(index), index.per_rank)
                if isinstance(literal, str) and literal != "params" and ".param_groups" in atom.text:
                    kept = frozenset(part for part in kept if not isinstance(part, facts.Weights))
                if _is_mask(index):
                    kept |= {PICKED}
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

    found = m.choose(base, of)
    taken = shares(ordered_by(base)) if index.per_rank else None
    if not taken:
        return found
    own = blend("share", [found])
    return one(replace(own, ranked=True, made_of=own.made_of | taken))


def _is_mask(index: Value) -> bool:
    """Whether it is the answer to a test of numbers, both of which it may be."""
    return len(index.alternatives) > 1 and {atom.value for atom in index.atoms() if isinstance(atom, Const)} == {
        True,
        False,
    }


def _of_several(table: Obj, found: Value) -> Value:
    """What a key that is not known finds among entries of several kinds: of which kind it is, is out of sight."""
    kinds = {value.taint for name, value in table.attrs.items() if name.startswith("['")}
    if len(kinds) < 2:
        return found
    return Value(
        tuple(
            (case, replace(atom, made_of=atom.made_of | {UNSEEN}) if isinstance(atom, Sym) else atom)
            for case, atom in found.alternatives
        )
    )


def taken_from(m: Machine, node: ast.expr) -> list[Value]:
    """The collection, and the index into it, that an expression names which takes an element or a part."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
        return []
    index = [m.evaluate(node.slice)] if isinstance(node.slice, ast.Name) else []
    return [m.evaluate(node.value), *index]


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


def _is_beyond(thing: Obj, literal: Any) -> bool:
    """Whether a container that is known entry by entry has none of this name."""
    return not (thing.notes.get("loose") or "*" in thing.attrs or element_name(literal) in thing.attrs)


def _element_of_each(m: Machine, thing: Obj, known: list[tuple[Case, Any]]) -> Value:
    """What ranks find in a container that look under literals of their own."""
    found = []
    if any(element_name(literal) in thing.attrs for _, literal in known):
        # there are not more ranks than the program has entries for
        known = [(case, literal) for case, literal in known if not _is_beyond(thing, literal)]
    for case, literal in known:
        if path := conjoin(m.path, (case,)):
            before, m.path = m.path, path
            found.append(under(element(m, thing, literal, const(literal)), (case,)))
            m.path = before
    return union(found)


def _own_entry(value: Value, thing: Obj, index: Value) -> Value:
    """One of several entries, chosen by rank: a text or number among them is not the same one for every rank."""
    chosen = [atom for atom in value.atoms() if isinstance(atom, Const | Sym)]
    if not chosen:
        return value
    parts = [atom for atom in chosen if isinstance(atom, Sym)]
    own = Sym(
        f"{thing.key}[{index.key}]",
        ranked=True,
        opaque=any(part.opaque for part in parts),
        made_of=frozenset().union(*(part.made_of for part in parts)),
    )
    kept = tuple(alternative for alternative in value.alternatives if not isinstance(alternative[1], Const | Sym))
    return union([Value(kept), one(own)]) if kept else one(own)


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
            if hinted:
                return one(Sym(f"{thing.key}[{index.key}]", ranked=True, made_of=value.taint))
            return _own_entry(value, thing, index) if literal is ... and index.per_rank else value
    if (factory := thing.notes.get("factory")) is not None:
        value = m.apply(one(factory), Arguments(), None)
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
