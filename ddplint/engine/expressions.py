"""What an expression may be, and what evaluating it does."""

from __future__ import annotations

import ast
from dataclasses import replace

from ddplint.engine import facts, library
from ddplint.engine.arguments import Arguments
from ddplint.engine.attributes import attribute, attribute_of
from ddplint.engine.branching import boolop, ifexp, test
from ddplint.engine.calls import invoke
from ddplint.engine.conditions import EVERY_RANK, Case, conjoin, simplify
from ddplint.engine.declared import ON_ONE_RANK
from ddplint.engine.elements import dictionary, item, sequence, set_element, set_item, subscript, taken_from
from ddplint.engine.gradients import with_gathered
from ddplint.engine.iteration import iterate, shared_out
from ddplint.engine.machine import Machine
from ddplint.engine.members import method
from ddplint.engine.names import tells_rank
from ddplint.engine.operators import LONGEST_TEXT, binary, compare, unary
from ddplint.engine.ordering import mark_order, pick
from ddplint.engine.values import (
    NONE,
    Atom,
    Bound,
    Class,
    Func,
    Lib,
    ModuleRef,
    Obj,
    Partial,
    Sym,
    Value,
    blend,
    const,
    element_name,
    one,
    spelled,
    under,
    union,
)


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
            return sequence(m, node, elements)
        case ast.Dict():
            return dictionary(m, node)
        case ast.Subscript():
            return subscript(m, node)
        case ast.BoolOp():
            return boolop(m, node)
        case ast.UnaryOp():
            return unary(m, node)
        case ast.BinOp():
            return binary(m, node.op, m.evaluate(node.left), m.evaluate(node.right))
        case ast.Compare():
            return compare(m, node)
        case ast.IfExp():
            return ifexp(m, node)
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


def lookup(m: Machine, name: str) -> Value:
    """What a name stands for: here, in the module, in a library or among the built-ins."""
    frame = m.frame
    if name in frame.globals:
        scopes: tuple[dict[str, Value], ...] = (frame.home.names,)
    else:
        scopes = frame.scopes
    for scope in reversed(scopes):
        if name in scope:
            if m.declared is not None and scope is frame.home.names and m.declared.is_predicate(frame.home, name):
                return ON_ONE_RANK
            value = scope[name].within(m.path)
            if value.alternatives:
                return value
    found = m.member(frame.home, name)
    if found is not None:
        return found
    for star in frame.home.library_stars:
        if (known := library.star(m, star, name)) is not None:
            return known
    return library.builtin(name)


def assign(m: Machine, target: ast.expr, value: Value) -> None:
    """Bind a target to a value: a name, an attribute, an element, or several of them."""
    match target:
        case ast.Name(name):
            frame = m.frame
            if tells_rank(name):
                value = _of_rank(value)
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
            set_item(m, target, value)
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


def _of_rank(value: Value) -> Value:
    """A value that is given the name of a rank: what cannot be seen of it may differ from rank to rank."""
    if not value.opaque:
        return value
    return Value(
        tuple((c, replace(a, ranked=True) if isinstance(a, Sym) and a.opaque else a) for c, a in value.alternatives)
    )


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
                others = [case for other, theirs in things.items() if other is not atom for case in theirs]
                new = union([under(value, tuple(cases)), under(old, simplify(others))])
            m.write(atom.attrs, element_name(name) if atom.kind == "dict" else name, new)
            library.attribute_was_set(m, atom, name, value, node)
        elif isinstance(atom, Sym):
            if f"{atom.text}.{name}" not in m.sym_attrs:
                m.sym_attrs[f"{atom.text}.{name}"] = attribute_of(m, atom, name, None)
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
    if not isinstance(thing.cls, Class):
        return None
    found = thing.cls.lookup(name)
    if found is None and thing.cls.lookup("__getattr__") is not None:
        before = m.path
        value = attribute_of(m, thing, name, None)
        m.path = before
        return value if value.alternatives else None
    return found if found is not None and not any(isinstance(atom, Func) for atom in found.atoms()) else None


def _joined(m: Machine, values: list[ast.expr]) -> Value:
    parts = []
    for value in values:
        parts.append(m.evaluate(value.value if isinstance(value, ast.FormattedValue) else value))
    literals = [part.constant() for part in parts]
    if all(literal is not ... for literal in literals):
        text = "".join(str(literal) for literal in literals)
        if len(text) < LONGEST_TEXT:
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
        result = m.apply(decorator, Arguments([value]), node)
        if any(isinstance(a, Func | Bound | Partial | Obj | Class) for a in result.atoms()):
            return result
    if isinstance(atom, Obj) and isinstance(atom.cls, Class) and method(atom, "__call__") is not None:
        result = m.apply(decorator, Arguments([value]), node)
        if any(isinstance(a, Func | Bound | Partial | Obj) for a in result.atoms()):
            return result
    if isinstance(atom, Class):
        return m.apply(decorator, Arguments([value]), node)
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
                mark_order(made, taken_from(m, node.elt))
                pick(m.trace, made, m.path)
                before = made.attrs.get("*")
                m.write(made.attrs, "*", union([before, value]) if before is not None else value)
            return
        generator = node.generators[number]
        frame.scopes = old if number == 0 else (*old, names)
        source = m.evaluate(generator.iter)
        mark_order(made, [source])
        frame.scopes = (*old, names)

        def body(element: Value) -> None:
            assign(m, generator.target, element if generator.ifs else with_gathered(source, element))
            before = m.path
            for condition in generator.ifs:
                yes, _ = test(m, condition)
                if any(case.unsure or case.mask != EVERY_RANK for case in yes):
                    made.notes["per_rank"] = True
                if any(case.unsure for case in yes):
                    shared_out(m, element, node)
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
