"""Calls: what is bound to the parameters, and where control goes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.binding import filled_names
from ddplint.engine.declared import ON_ONE_RANK
from ddplint.engine.gradients import compared, handled, of_collectives
from ddplint.engine.instances import instantiate
from ddplint.engine.iteration import draw
from ddplint.engine.machine import Around, Machine
from ddplint.engine.members import method
from ddplint.engine.names import hints_rank, tells_rank
from ddplint.engine.values import (
    NONE,
    UNSEEN,
    Atom,
    Bound,
    Class,
    Const,
    Func,
    Lib,
    Obj,
    Partial,
    Ranked,
    Sym,
    Value,
    blend,
    one,
    union,
)


def arguments(m: Machine, node: ast.Call) -> Arguments:
    """What a call passes, its expressions evaluated from left to right."""
    found = Arguments()
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = m.evaluate(argument.value)
            known = exact_elements(value)
            if known is None or found.rest:
                found.rest.append(value)
            else:
                found.positional += known
        elif found.rest:
            found.rest.append(m.evaluate(argument))
        else:
            found.positional.append(m.evaluate(argument))
    for keyword in node.keywords:
        value = m.evaluate(keyword.value)
        if keyword.arg is not None:
            found.keywords[keyword.arg] = value
            continue
        atom = value.only
        if isinstance(atom, Obj) and atom.kind == "dict":
            for name, element in atom.attrs.items():
                if name.startswith("['"):
                    found.keywords[name[2:-2]] = element.within(m.path)
            if atom.notes.get("loose"):
                found.more.append(value)
        elif isinstance(atom, Const) and atom.value is None:
            continue
        else:
            found.more.append(value)
    return found


def spread(m: Machine, value: Value, into: Obj) -> list[Value]:
    """The elements of ``*value`` in a display; what is not known one by one goes to ``into`` as a whole."""
    known = exact_elements(value)
    if known is not None:
        return known
    into.notes["loose"] = True
    element = draw(m, value)
    old = into.attrs.get("*")
    into.attrs["*"] = union([old, element]) if old is not None else element
    return []


_OF_ARRAYS = frozenset({"sum", "any", "all", "mean", "item", "float", "int", "long", "to", "nonzero", "cpu", "view"})


def elementwise(m: Machine, value: Value) -> Value:
    """The answers of a comparison, where it is one of arrays: for each element another."""
    if not all(isinstance(atom, Const) and isinstance(atom.value, bool) for atom in value.atoms()):
        return value
    keys = sorted(
        {key for case, _ in value.alternatives for key, _ in case.facts if key in m.trace.grounds},
        key=lambda key: key.text,
    )
    if not keys:
        return value
    made_of = compared(frozenset[Any]().union(*(m.trace.grounds[key] for key in keys)))
    text = blend("elementwise", [one(Sym(key.text)) for key in keys]).text
    return one(Sym(text, any(key.per_rank for key in keys), opaque=False, made_of=made_of))


def invoke(m: Machine, node: ast.Call) -> Value:
    """What a call expression gives."""
    from ddplint.engine.attributes import attribute

    if isinstance(node.func, ast.Attribute):
        owner = m.evaluate(node.func.value)
        if node.func.attr in _OF_ARRAYS:
            owner = elementwise(m, owner)
        callee = attribute(m, owner, node.func.attr, node)
    else:
        callee = m.evaluate(node.func)
    return m.apply(callee, arguments(m, node), node)


def apply(m: Machine, callee: Value, args: Arguments, node: ast.AST | None) -> Value:
    """What calling ``callee`` gives, with each thing it can be called under its own case."""
    if not m.path:
        return NONE
    value = m.choose(callee, lambda atom: _apply(m, atom, args, node))
    return value if value.alternatives else one(Sym("nothing"))


def _apply(m: Machine, atom: Atom, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine import library

    match atom:
        case Func():
            return call_function(m, atom, args, node)
        case Bound(me, name, None):
            made = library.of_part(m, me, name, node, bool(args.all()))
            given = library.method(m, me, name, args, node)
            return given if made is None else library.made_of(m, given, made)
        case Bound(me, name, func) if func is not None:
            made = library.of_wrapped(m, me, name, node)
            given = call_function(m, func, args.before(one(me)), node, me)
            given = library.agreed(given) if library.puts_together(me, name) else given
            return given if made is None else library.made_of(m, given, made)
        case Class():
            return instantiate(m, atom, args, node)
        case Lib(name):
            return library.call(m, name, args, node) if m.declared is None else _call_declared(m, name, args, node)
        case Ranked() if atom is ON_ONE_RANK.only:  # its name is read first, and called or not
            return ON_ONE_RANK
        case Partial(func, first, keywords):
            merged = Arguments([*first, *args.positional], {**keywords, **args.keywords}, args.rest, args.more)
            return m.apply(func, merged, node)
        case Obj():
            if isinstance(atom.cls, Class) and atom.kind not in ("ddp", "module"):
                if (caller := method(atom, "__call__")) is not None:
                    return m.apply(caller, args, node)
            return library.call_object(m, atom, args, node)
        case Sym():
            made = library.of_unseen(m, atom, "", node)
            given = opaque_call(m, atom, args, node)
            return given if made is None else library.made_of(m, given, made)
        case _:
            return opaque_call(m, atom, args, node)


def _call_declared(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A call of a library's function or class where the settings may say something of it."""
    from ddplint.engine import library

    declared = m.declared
    assert declared is not None
    depth = len(m.around)
    if name in declared.savers:
        m.around.append(Around("one rank writes", None, m.path))
    value = library.call(m, name, args, node)
    if name in declared.savers:
        del m.around[depth:]
    if declared.is_class_of_predicate(name):
        return one(m.new("instance", node, Lib(name), args=args))
    if name in declared.sharding:
        return Value(tuple((case, _of_each_rank(atom)) for case, atom in value.alternatives))
    return value


def _of_each_rank(atom: Atom) -> Atom:
    return replace(atom, ranked=True) if isinstance(atom, Sym) else atom


def opaque_call(m: Machine, atom: Atom, args: Arguments, node: ast.AST | None) -> Value:
    """A call of something out of sight: it may do anything with what it is given."""
    from ddplint.engine import library

    escape(m, args, node)
    if library.may_seed_unseen(atom):
        library.seeded_out_of_sight(m, node)
    if library.may_wait_unseen(atom, args):
        library.waited(m, node)
    if isinstance(atom, Sym) and node is not None and library.scales_and_steps(m, atom.text, args, node):
        return NONE
    for value in args.all():
        for function in value.atoms():
            if not isinstance(function, Func | Bound):
                continue
            if id(_node_of(function)) not in (m.called_in_workers if m.workers else m.called):
                call_back(m, function, node)
            elif isinstance(function, Func):
                may_fill(function)
    if (parser := given_parser(args)) is not None:
        return parser
    result = blend(f"call {atom.key}", args.all(), opaque=True)
    ranked = result.ranked or (isinstance(atom, Sym) and atom.ranked) or tells_rank(atom.key.rpartition(".")[2])
    return one(Sym(result.text, ranked, False, True, handled(result.made_of | atom.taint) | {UNSEEN}))


def given_parser(args: Arguments) -> Value | None:
    """The command line's parser a call is given: whoever adds options to it hands it back."""
    first = args.positional[0] if len(args.positional) == 1 else None
    if first is not None and isinstance(first.only, Obj) and first.only.kind == "parser":
        return first
    return None


def may_fill(func: Func) -> None:
    """A function that is called out of sight: what it puts into containers around it may be there from now on."""
    for name in filled_names(func.node):
        held = next((scope[name] for scope in reversed(func.scopes) if name in scope), NONE)
        for atom in held.atoms():
            if isinstance(atom, Obj) and atom.kind in ("dict", "list", "set"):
                atom.notes["loose"] = True


def _node_of(function: Func | Bound) -> ast.AST | None:
    func = function if isinstance(function, Func) else function.func
    return func.node if func is not None else None


def call_back(m: Machine, function: Atom, node: ast.AST | None, first: Value | None = None) -> None:
    """Run a function that is handed to code out of sight; what it will be given is not known."""
    if isinstance(function, Func):
        call_function(m, function, Arguments([first] if first is not None else []), node)
    elif isinstance(function, Bound) and function.func is not None:
        given = [one(function.self)] + ([first] if first is not None else [])
        call_function(m, function.func, Arguments(given), node, function.self)


def escape(m: Machine, args: Arguments, node: ast.AST | None) -> None:
    """Record what of interest is handed to code out of sight."""
    if node is None:
        return
    seen: set[int] = set()

    def visit(value: Value, depth: int) -> None:
        for atom in value.atoms():
            if isinstance(atom, Obj):
                if id(atom) in seen:
                    continue
                seen.add(id(atom))
                if atom.kind in ("loader", "sampler", "nosync", "ddp"):
                    m.record(facts.Escape, node, thing=atom)
                if depth:
                    for inner in list(atom.attrs.values()):
                        visit(inner, depth - 1)
            elif isinstance(atom, Bound):
                visit(one(atom.self), depth)
            elif isinstance(atom, Sym):
                for part in atom.made_of:
                    if isinstance(part, Obj) and part.kind == "ddp" and id(part) not in seen:
                        seen.add(id(part))
                        m.record(facts.Escape, node, thing=part)

    for value in args.all():
        visit(value, 2)


def is_generator(node: ast.AST) -> bool:
    """Whether a function's own body yields."""
    if isinstance(node, ast.Lambda):
        return False
    known = getattr(node, "known_yields", None)
    if known is None:
        known = _yields(node)
        node.known_yields = known  # type: ignore[attr-defined]
    return bool(known)


def _yields(function: ast.AST) -> bool:
    stack = list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return False


def call_function(m: Machine, func: Func, args: Arguments, node: ast.AST | None, me: Atom | None = None) -> Value:
    """Follow a call into a function of the project."""
    from ddplint.engine import library

    declared = m.declared
    if declared is not None and func.key in declared.predicates:
        return ON_ONE_RANK
    bound = bind_parameters(m, func, args)
    if me is None and func.owner is not None and args.positional:
        me = args.positional[0].only
    site = m.site(node) if node is not None else None
    if is_generator(func.node):
        made = m.new("generator", site, func=func, bound=bound, me=me)
        made.notes["context"] = _makes_contexts(func)
        return one(made)
    before, around = m.path, len(m.around)
    if declared is not None and func.key in declared.savers:
        m.around.append(Around("one rank writes", None, m.path))
    guarded = library.enter_decorators(m, func)
    if not m.path:
        m.path = before
        return NONE
    result = m.run(func, bound, site, me)
    del m.around[around:]
    if result is None:
        unfollowed = blend(f"call {func.key}", args.all(), opaque=True)
        # what ranks have put together may be kept in there
        made_of = unfollowed.made_of - of_collectives(unfollowed.made_of)
        return one(replace(unfollowed, made_of=handled(made_of)))
    if guarded and m.path:
        m.path = before
    if _makes_contexts(func):
        for atom in result[0].atoms():
            if isinstance(atom, Obj) and atom.kind == "generator":  # made further in, and a context only from here on
                atom.notes["context"], atom.site = True, site
    if declared is not None and func.key in declared.unwraps:
        return _without_wrappers(m, result[0])
    return result[0]


def _without_wrappers(m: Machine, value: Value) -> Value:
    """The model inside, of each wrapper that the value can be."""
    from ddplint.engine.attributes import attribute_of

    def inner(atom: Atom) -> Value:
        is_wrapper = isinstance(atom, Obj) and atom.kind == "ddp"
        return attribute_of(m, atom, "module", None) if is_wrapper else one(atom)

    return m.choose(value, inner)


def _makes_contexts(func: Func) -> bool:
    return any(
        isinstance(a, Lib) and a.name in ("contextlib.contextmanager", "contextlib.asynccontextmanager")
        for v in func.decorators
        for a in v.atoms()
    )


def bind_parameters(m: Machine, func: Func, args: Arguments) -> dict[str, Value]:
    """What each parameter of a function holds in a call."""
    spec = func.node.args
    named = [p.arg for p in (*spec.posonlyargs, *spec.args)]
    bound = dict(zip(named, args.positional, strict=False))
    extra = args.positional[len(named) :]
    if spec.vararg is not None:
        rest = m.new("tuple")
        for number, value in enumerate(extra):
            rest.attrs[f"[{number}]"] = value
        if args.rest:
            rest.attrs["*"] = one(blend("rest", args.rest))
            rest.notes["loose"] = True
        bound[spec.vararg.arg] = one(rest)
    known = {*named, *(p.arg for p in spec.kwonlyargs)}
    more: dict[str, Value] = {}
    for name, value in args.keywords.items():
        if name in known:
            bound[name] = value
        else:
            more[name] = value
    if spec.kwarg is not None:
        options = m.new("dict")
        for name, value in more.items():
            options.attrs[f"[{name!r}]"] = value
        if args.more:
            from ddplint.engine.elements import merge_dict

            for value in args.more:
                merge_dict(m, options, value)
            options.notes["loose"] = True
        bound[spec.kwarg.arg] = one(options)
    for name in (*named, *(p.arg for p in spec.kwonlyargs)):
        if name in bound:
            continue
        found = _behind_stars(m, name, args)
        default = func.defaults.get(name)
        if found is not None:
            bound[name] = found
        elif default is not None:
            bound[name] = default
        else:
            bound[name] = unseen_parameter(func, name)
    return bound


def unseen_parameter(func: Func, name: str) -> Value:
    """What a parameter holds that nobody in sight passes."""
    return one(Sym(f"parameter {name} of {func.key}", ranked=hints_rank(name), made_of=frozenset({UNSEEN})))


def _named(entry: Value, name: str, owner: Value) -> Value:
    """What is known of any entry, as that of one name: another name's may be another."""
    found = [
        (case, replace(atom, text=f"{name} of {owner.key}", ranked=atom.ranked or hints_rank(name)))
        if isinstance(atom, Sym)
        else (case, atom)
        for case, atom in entry.alternatives
    ]
    return Value(tuple(found))


def _behind_stars(m: Machine, name: str, args: Arguments) -> Value | None:
    from ddplint.engine.attributes import attribute

    for value in args.more:
        for atom in value.atoms():
            if isinstance(atom, Obj):
                exact = atom.attrs.get(f"[{name!r}]")
                if exact is not None:
                    return exact
                namespace = atom.notes.get("namespace", atom if atom.kind == "namespace" else None)
                if namespace is not None:
                    return attribute(m, one(namespace), name, None)
                if "*" in atom.attrs:
                    return _named(atom.attrs["*"], name, value)
            else:
                return one(Sym(f"{name} of {value.key}", ranked=hints_rank(name)))
    if args.rest:
        return one(blend("argument", args.rest, opaque=True))
    return None
