"""Calls, iteration, context managers and the making of instances: where control goes somewhere else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ddplint.engine import facts
from ddplint.engine.conditions import Path, conjoin, disjoin
from ddplint.engine.machine import Around, Frame, Machine
from ddplint.engine.names import hints_rank
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
    Sym,
    Value,
    blend,
    const,
    one,
    split,
    under,
    union,
)

_MOST_UNROLLED = 8


@dataclass
class Arguments:
    """What a call passes. ``rest`` and ``more`` are what stands behind ``*`` and ``**`` and is not known one by one."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: list[Value] = field(default_factory=list)
    more: list[Value] = field(default_factory=list)

    def get(self, position: int | None, *names: str) -> Value | None:
        """The argument at a position or of a name; unknown where it may hide behind ``*`` or ``**``."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        if position is not None and self.rest:
            return one(blend("argument", self.rest, opaque=True))
        for value in self.more:
            for atom in value.atoms():
                if not isinstance(atom, Obj) or "*" in atom.attrs or "namespace" in atom.notes:
                    return one(Sym(f"{names[0] if names else position} of {value.key}"))
        return None

    def all(self) -> list[Value]:
        """Every value that is passed, those behind ``*`` and ``**`` included."""
        return [*self.positional, *self.keywords.values(), *self.rest, *self.more]

    def before(self, *values: Value) -> Arguments:
        """The same with ``values`` in front of the positional ones."""
        return Arguments([*values, *self.positional], self.keywords, self.rest, self.more)


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


def exact_elements(value: Value) -> list[Value] | None:
    """The elements of a list or tuple that is known one by one."""
    atom = value.only
    if (
        isinstance(atom, Obj)
        and atom.kind in ("list", "tuple")
        and not atom.notes.get("loose")
        and "*" not in atom.attrs
    ):
        return list(atom.attrs.values())
    return None


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


# ----------------------------------------------------------------------- calls


def invoke(m: Machine, node: ast.Call) -> Value:
    """What a call expression gives."""
    from ddplint.engine.attributes import attribute

    if isinstance(node.func, ast.Attribute):
        callee = attribute(m, m.evaluate(node.func.value), node.func.attr, node)
    else:
        callee = m.evaluate(node.func)
    return apply(m, callee, arguments(m, node), node)


def apply(m: Machine, callee: Value, args: Arguments, node: ast.AST | None) -> Value:
    """What calling ``callee`` gives, with each thing it can be called under its own case."""
    if not m.path:
        return NONE
    value = m.choose(callee, lambda atom: _apply(m, atom, args, node))
    return value if value.alternatives else one(Sym("nothing"))


def _apply(m: Machine, atom: Atom, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine import library
    from ddplint.engine.attributes import method

    match atom:
        case Func():
            return call_function(m, atom, args, node)
        case Bound(me, name, None):
            return library.method(m, me, name, args, node)
        case Bound(me, _, func) if func is not None:
            return call_function(m, func, args.before(one(me)), node, me)
        case Class():
            return instantiate(m, atom, args, node)
        case Lib(name):
            return library.call(m, name, args, node)
        case Partial(func, first, keywords):
            merged = Arguments([*first, *args.positional], {**keywords, **args.keywords}, args.rest, args.more)
            return apply(m, func, merged, node)
        case Obj():
            if isinstance(atom.cls, Class) and atom.kind not in ("ddp", "module"):
                if (caller := method(atom, "__call__")) is not None:
                    return apply(m, caller, args, node)
            return library.call_object(m, atom, args, node)
        case _:
            return opaque_call(m, atom, args, node)


def opaque_call(m: Machine, atom: Atom, args: Arguments, node: ast.AST | None) -> Value:
    """A call of something out of sight: it may do anything with what it is given."""
    from ddplint.engine import library

    escape(m, args, node)
    if isinstance(atom, Sym) and node is not None and library.scales_and_steps(m, atom.text, args, node):
        return NONE
    for value in args.all():
        for function in value.atoms():
            if isinstance(function, Func | Bound) and id(_node_of(function)) not in m.called:
                call_back(m, function, node)
    if (parser := given_parser(args)) is not None:
        return parser
    result = blend(f"call {atom.key}", args.all(), opaque=True)
    ranked = result.ranked or (isinstance(atom, Sym) and atom.ranked)
    return one(Sym(result.text, ranked, False, True, result.made_of | atom.taint | {UNSEEN}))


def given_parser(args: Arguments) -> Value | None:
    """The command line's parser a call is given: whoever adds options to it hands it back."""
    first = args.positional[0] if len(args.positional) == 1 else None
    if first is not None and isinstance(first.only, Obj) and first.only.kind == "parser":
        return first
    return None


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
                if atom.kind in ("loader", "sampler", "nosync"):
                    m.record(facts.Escape, node, thing=atom)
                if depth:
                    for inner in list(atom.attrs.values()):
                        visit(inner, depth - 1)
            elif isinstance(atom, Bound):
                visit(one(atom.self), depth)

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

    bound = bind_parameters(m, func, args)
    if me is None and func.owner is not None and args.positional:
        me = args.positional[0].only
    site = m.site(node) if node is not None else None
    if is_generator(func.node):
        made = m.new("generator", site, func=func, bound=bound, me=me)
        made.notes["context"] = _makes_contexts(func)
        return one(made)
    before, around = m.path, len(m.around)
    guarded = library.enter_decorators(m, func)
    if not m.path:
        m.path = before
        return NONE
    result = m.run(func, bound, site, me)
    del m.around[around:]
    if result is None:
        return one(blend(f"call {func.key}", args.all(), opaque=True))
    if guarded and m.path:
        m.path = before
    if _makes_contexts(func):
        for atom in result[0].atoms():
            if isinstance(atom, Obj) and atom.kind == "generator":  # made further in, and a context only from here on
                atom.notes["context"], atom.site = True, site
    return result[0]


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
                    return atom.attrs["*"]
            else:
                return one(Sym(f"{name} of {value.key}", ranked=hints_rank(name)))
    if args.rest:
        return one(blend("argument", args.rest, opaque=True))
    return None


# ------------------------------------------------------------------- instances


def instantiate_class_body(m: Machine, node: ast.ClassDef) -> Value:
    """The class a class statement makes; its body is run here."""
    frame = m.frame
    bases = tuple(m.evaluate(base.value if isinstance(base, ast.Starred) else base) for base in node.bases)
    keywords = {k.arg: m.evaluate(k.value) for k in node.keywords if k.arg}
    decorators = tuple(m.evaluate(d) for d in node.decorator_list)
    attrs: dict[str, Value] = {}
    cls = Class(node, frame.home, bases, attrs, keywords, decorators)
    m.frames.append(Frame(frame.home, (*frame.scopes, attrs), None, frame.chain, owner=cls))
    try:
        m.block(node.body)
    finally:
        m.frames.pop()
    if _is_record(cls):
        cls.fields = tuple(
            statement.target.id
            for statement in node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        )
    return one(cls)


def _is_record(cls: Class) -> bool:
    named = any(isinstance(a, Lib) and a.name == "typing.NamedTuple" for b in cls.bases for a in b.atoms())
    return (
        named
        or any(
            isinstance(a, Lib) and a.name.rsplit(".", 1)[-1] in ("dataclass", "define", "frozen", "s", "attrs")
            for d in cls.decorators
            for a in d.atoms()
        )
        or any(isinstance(a, Obj) and a.kind == "record decorator" for d in cls.decorators for a in d.atoms())
    )


def instantiate(m: Machine, cls: Class, args: Arguments, node: ast.AST | None) -> Value:
    """A new instance of a class of the project; its constructor is followed where that can show anything."""
    from ddplint.engine import library
    from ddplint.engine.attributes import bind

    kind = library.kind_of(cls)
    made = m.new(kind, node, cls)
    made.notes["args"] = args
    made.notes["given_rank"] = any(value.per_rank for value in args.all())
    library.born(m, made)
    init = cls.lookup("__init__")
    if not library.worth_making(made, cls) and not any(
        isinstance(atom, Obj) and atom.kind == "ddp" for value in args.all() for atom in value.atoms()
    ):
        return one(made)
    if init is not None:
        apply(m, bind(init, made, cls), args, node)
    elif (fields := _fields(cls)) is not None:
        _fill(m, made, fields, cls, args)
        post = cls.lookup("__post_init__")
        if post is not None:
            apply(m, bind(post, made, cls), Arguments(), node)
    else:
        library.initialise(m, made, args, node)
    return one(made)


def _fields(cls: Class) -> list[tuple[str, Class]] | None:
    records = [c for c in cls.mro() if isinstance(c, Class) and c.fields is not None]
    if not records:
        return None
    found: dict[str, Class] = {}
    for record in reversed(records):
        for name in record.fields or ():
            found[name] = record
    return list(found.items())


def _fill(m: Machine, made: Obj, fields: list[tuple[str, Class]], cls: Class, args: Arguments) -> None:
    for number, (name, _) in enumerate(fields):
        value = args.get(number, name)
        if value is None:
            default = cls.lookup(name)
            if default is None:
                value = one(Sym(f"field {name} of {cls.key}", ranked=hints_rank(name)))
            else:
                value = _default(m, default)
        made.attrs[name] = value


def _default(m: Machine, default: Value) -> Value:
    atom = default.only
    if isinstance(atom, Obj) and atom.kind == "field":
        factory = atom.attrs.get("default_factory")
        if factory is not None:
            return apply(m, factory, Arguments(), None)
        return _default(m, atom.attrs["default"]) if "default" in atom.attrs else one(Sym("field"))
    if isinstance(atom, Const) and isinstance(atom.value, int | float | bool):
        return one(Const(atom.value, soft=True))
    return default


# ------------------------------------------------------------------- iteration


def iterate(m: Machine, node: ast.AST, where: ast.AST, value: Value, body: Callable[[Value], object]) -> None:
    """Go over ``value``, once or twice, with ``body`` given what each round gets."""
    m.choose(value, lambda atom: _iterate(m, node, where, atom, body))


def _iterate(m: Machine, node: ast.AST, where: ast.AST, atom: Atom, body: Callable[[Value], object]) -> Value:
    from ddplint.engine.attributes import method

    match atom:
        case Obj(kind="loader"):
            if (own := method(atom, "__iter__")) is not None:
                _own_iteration(m, node, where, atom, apply(m, own, Arguments(), where), body)
                return NONE
            m.record(facts.Iterate, where, loader=atom, grad=m.grad)
            m.loop(node, lambda turn: body(batch_of(atom)), over=frozenset({atom}))
        case Obj(kind="iterator"):
            source = atom.notes["source"]
            over = frozenset(a for a in source.atoms() if isinstance(a, Obj) and a.kind == "loader")
            m.loop(node, lambda turn: body(atom.notes["element"]), over=over)
        case Obj(kind="iterable"):
            atom.notes["drive"](m, node, where, body)
        case Obj(kind="range"):
            _range(m, node, atom, body)
        case Obj(kind="generator"):
            _run_generator(m, node, atom, body)
        case Obj(kind="list" | "tuple" | "set" | "dict"):
            _elements(m, node, atom, body)
        case Obj() if isinstance(atom.cls, Class) and (own := method(atom, "__iter__")) is not None:
            _own_iteration(m, node, where, atom, apply(m, own, Arguments(), where), body)
        case Obj(kind="module") if "[0]" in atom.attrs or "*" in atom.attrs:
            _elements(m, node, atom, body)
        case _:
            _unknown(m, node, atom, body)
    return NONE


def _own_iteration(
    m: Machine, node: ast.AST, where: ast.AST, thing: Obj, result: Value, body: Callable[[Value], object]
) -> None:
    """Go over what ``__iter__`` of a project's class gives; where that is the thing itself, over its ``__next__``."""
    from ddplint.engine.attributes import method

    if not any(atom is thing for atom in result.atoms()):
        iterate(m, node, where, result, body)
        return
    following = method(thing, "__next__")
    over = frozenset({thing}) if thing.kind == "loader" else frozenset()
    if over:
        m.record(facts.Iterate, where, loader=thing, grad=m.grad)

    def step(turn: facts.Loop) -> None:
        given = apply(m, following, Arguments(), where) if following is not None else one(Sym("next"))
        # whatever a loader's own batches go through, they are still its batches
        body(given if over <= given.taint else batch_of(thing))

    m.loop(node, step, over=over)


def _unknown(m: Machine, node: ast.AST, atom: Atom, body: Callable[[Value], object]) -> None:
    made_of = set(atom.taint)
    for part in atom.taint:
        if isinstance(part, facts.StateDict):
            made_of.discard(part)
            made_of.add(facts.KeyOf(part))
    loaders = frozenset(part for part in made_of if isinstance(part, Obj) and part.kind == "loader")
    ranked = atom.per_rank

    def step(turn: facts.Loop) -> None:
        opaque = not isinstance(atom, Sym) or atom.opaque
        body(one(Sym(f"element of {atom.key[:60]} {turn.mark}", ranked, False, opaque, frozenset(made_of))))

    m.loop(node, step, over=loaders)


def batch_of(loader: Obj) -> Value:
    """A batch of a loader."""
    return one(Sym(f"batch of {loader.key}", opaque=False, made_of=frozenset({loader})))


def _range(m: Machine, node: ast.AST, atom: Obj, body: Callable[[Value], object]) -> None:
    length = atom.notes.get("length")
    repeats = length is None or length > 1
    if length == 0:
        return

    def step(turn: facts.Loop) -> None:
        if not repeats:
            body(const(atom.notes.get("start", 0)))
            return
        body(one(Sym(f"count {turn.mark}", atom.per_rank, counter=True, opaque=False)))

    m.loop(node, step, repeats=repeats, endless=bool(atom.notes.get("endless")))


def _elements(m: Machine, node: ast.AST, atom: Obj, body: Callable[[Value], object]) -> None:
    exact = not atom.notes.get("loose") and "*" not in atom.attrs
    names = [name for name in atom.attrs if name.startswith("[")]
    values = [_literal_key(name) if atom.kind == "dict" else atom.attrs[name] for name in names]
    if exact and len(values) <= _MOST_UNROLLED:
        if values:
            _unroll(m, node, values, body)
        return
    if atom.kind == "dict":
        states = frozenset(facts.KeyOf(state) for state in atom.notes.get("states", ()))
        keys = one(Sym(f"key of {atom.key}", opaque=False, made_of=states))
        values = [keys]
    elif "*" in atom.attrs:
        values.append(atom.attrs["*"])
    element = union(values) if values else one(Sym(f"element of {atom.key}"))
    m.loop(node, lambda turn: body(element))


def _literal_key(name: str) -> Value:
    try:
        return const(ast.literal_eval(name[1:-1]))
    except (ValueError, SyntaxError):
        return one(Sym(name))


def _unroll(m: Machine, node: ast.AST, values: list[Value], body: Callable[[Value], object]) -> None:
    turn = facts.Loop(m.fresh(), m.site(node), len(values) > 1)
    before = m.path
    m.loops.append(turn)
    m.breaks.append((m.frame, [], []))
    try:
        for value in values:
            m.path = before
            m.round(turn, partial(body, value))
    finally:
        m.breaks.pop()
        m.loops.pop()
    m.path = before


def _run_generator(m: Machine, node: ast.AST, atom: Obj, body: Callable[[Value], object]) -> None:
    """A generator that is gone over at once: the loop's body runs at each ``yield``."""
    consumer = m.frame
    before = m.path

    def at_yield(value: Value) -> Value:
        with m.inside(consumer):
            path = m.path
            went_on: list[Path] = []
            m.breaks.append((consumer, went_on, went_on))
            try:
                body(value)
            finally:
                m.breaks.pop()
            if not m.path and went_on:
                m.path = path
        return one(Sym("sent"))

    died = consumer.died
    result = m.run(atom.notes["func"], dict(atom.notes["bound"]), atom.site, atom.notes["me"], at_yield)
    if result is None:
        _unknown(m, node, Sym("generator"), body)
    consumer.died = died
    m.path = before


def draw(m: Machine, value: Value) -> Value:
    """What ``next`` gives, or any element of ``value``."""
    return m.choose(value, lambda atom: _draw(m, atom))


def _draw(m: Machine, atom: Atom) -> Value:
    from ddplint.engine.attributes import method

    match atom:
        case Obj(kind="loader"):
            return batch_of(atom)
        case Obj(kind="iterator"):
            element: Value = atom.notes["element"]
            return element
        case Obj(kind="generator"):
            if "element" not in atom.notes:
                atom.notes["element"] = one(Sym("element", made_of=frozenset({UNSEEN})))
                loops, m.loops = m.loops, list(atom.notes["loops"])
                breaks, m.breaks = m.breaks, []
                path, start = m.path, len(m.trace.events)
                try:
                    result = m.run(atom.notes["func"], dict(atom.notes["bound"]), atom.site, atom.notes["me"])
                finally:
                    m.loops, m.breaks = loops, breaks
                    m.path = path
                if result is not None and result[1].yielded:
                    atom.notes["element"] = union(result[1].yielded)
                atom.notes["drawn"] = (path, m.trace.events[start:])
            else:
                _drawn_again(m, atom)
            found: Value = atom.notes["element"]
            return found
        case Obj(kind="iterable"):
            drawn: list[Value] = []
            kept = atom.notes.get("element")
            if kept is not None:
                _drawn_again(m, atom)
                return kept  # type: ignore[no-any-return]
            loops, m.loops = m.loops, list(atom.notes["loops"])
            path, start = m.path, len(m.trace.events)
            try:
                node = atom.site.node if atom.site is not None else ast.Pass()
                atom.notes["drive"](m, node, node, drawn.append)
            finally:
                m.loops = loops
            atom.notes["element"] = union(drawn) if drawn else one(Sym("element"))
            atom.notes["drawn"] = (path, m.trace.events[start:])
            return atom.notes["element"]  # type: ignore[no-any-return]
        case Obj(kind="range"):
            return one(Sym("count", counter=True, opaque=False))
        case Obj(kind="list" | "tuple" | "set"):
            values = list(atom.attrs.values())
            return union(values) if values else one(Sym(f"element of {atom.key}"))
        case Obj(kind="dict"):
            return one(Sym(f"key of {atom.key}", opaque=False))
        case Obj() if isinstance(atom.cls, Class):
            if (following := method(atom, "__next__")) is not None:
                return apply(m, following, Arguments(), atom.site.node if atom.site else None)
            if (own := method(atom, "__iter__")) is not None:
                return draw(m, apply(m, own, Arguments(), atom.site.node if atom.site else None))
            return one(Sym(f"element of {atom.key}"))
        case _:
            return one(Sym(f"element of {atom.key}", atom.per_rank, made_of=atom.taint))


def _drawn_again(m: Machine, source: Obj) -> None:
    """What the first draw did in every case is also done where another one is made."""
    path, events = source.notes.get("drawn", (m.path, []))
    wider = path if m.path == path else disjoin(path, m.path)
    if wider != path:
        for event in events:
            if event.path == path:
                event.path = wider
        source.notes["drawn"] = (wider, events)


# ------------------------------------------------------------ context managers


def enter(m: Machine, node: ast.expr, value: Value, rest: Callable[[Value], None]) -> None:
    """``with value:`` around ``rest``, which gets what ``as`` would bind."""
    alternatives = value.within(m.path).alternatives
    if all(is_plain(atom) for _, atom in alternatives):
        depth = len(m.around)
        regions: list[facts.NoSync] = []
        entered = []
        for case, atom in alternatives:
            path = conjoin(m.path, (case,))
            entered.append(under(enter_plain(m, node, atom, path, regions), (case,)))
        try:
            rest(union(entered) if entered else NONE)
        finally:
            del m.around[depth:]
            for region in regions:
                region.until = len(m.trace.events)
        return
    m.choose(value, lambda atom: _enter_one(m, node, atom, rest))


def is_plain(atom: Atom) -> bool:
    """Whether a context manager is entered without running code of the project."""
    from ddplint.engine.attributes import method

    if isinstance(atom, Obj):
        if atom.kind == "generator":
            return False
        return not (isinstance(atom.cls, Class) and method(atom, "__enter__") is not None)
    return True


def enter_plain(m: Machine, node: ast.expr, atom: Atom, path: Path, regions: list[facts.NoSync]) -> Value:
    """What ``as`` binds for such a context manager, now active; ``regions`` gets the ``no_sync`` it opens."""
    match atom:
        case Obj(kind="nosync"):
            m.around.append(Around("nosync", atom.notes["wrapper"], path))
            before, m.path = m.path, path
            site = atom.site if atom.site is not None and atom.site.module is m.frame.home.module else m.site(node)
            regions.append(m.record(facts.NoSync, site, wrapper=atom.notes["wrapper"]))
            m.path = before
            return NONE
        case Obj(kind="context"):
            name = atom.notes["name"]
            if name == "grad":
                yes, no = split(atom.notes["enabled"])
                if no:
                    m.around.append(Around("nograd", None, conjoin(path, no)))
                if yes:
                    m.around.append(Around("grad", None, conjoin(path, yes)))
            elif name == "device":
                m.around.append(Around("device", None, path))
            elif name == "join":
                m.around.append(Around("join", None, path))
            elif name == "hidden":
                m.around.append(Around("hidden", None, path))
            return atom.notes.get("entered", one(atom))  # type: ignore[no-any-return]
        case Obj(kind="device"):
            m.around.append(Around("device", None, path))
            return one(atom)
        case Obj():
            return one(atom)
        case Sym():
            hidden = (
                "sync" in atom.text
                or "accum" in atom.text
                or any(isinstance(part, Obj) and part.kind in ("ddp", "nosync") for part in atom.made_of)
            )
            if hidden:
                m.around.append(Around("hidden", None, path))
            return one(atom)
        case _:
            return one(atom)


def _enter_one(m: Machine, node: ast.expr, atom: Atom, rest: Callable[[Value], None]) -> Value:
    from ddplint.engine.attributes import method

    if isinstance(atom, Obj) and atom.kind == "generator":
        consumer = m.frame

        def at_yield(value: Value) -> Value:
            with m.inside(consumer):
                rest(value)
            return NONE

        before = m.path
        returns = len(consumer.returns)
        result = m.run(atom.notes["func"], dict(atom.notes["bound"]), atom.site, atom.notes["me"], at_yield)
        if result is None:
            rest(one(Sym("entered")))
        elif (len(consumer.returns) == returns and result[1].yielded) or (not m.path and not result[1].yielded):
            m.path = before
        return NONE
    if isinstance(atom, Obj) and (enters := method(atom, "__enter__")) is not None:
        depth = len(m.around)
        rest(apply(m, enters, Arguments(), node))
        leaves = method(atom, "__exit__")
        if leaves is not None and m.path:
            apply(m, leaves, Arguments([NONE, NONE, NONE]), node)
        del m.around[depth:]
        return NONE
    enter(m, node, one(atom), rest)
    return NONE
