"""Classes and what calling them makes."""

from __future__ import annotations

import ast

from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import Key, fact
from ddplint.engine.machine import Frame, Machine
from ddplint.engine.members import bind
from ddplint.engine.names import hints_rank, tells_rank
from ddplint.engine.ordering import drawn, ordered_by
from ddplint.engine.values import Class, Const, Lib, Obj, Sym, Value, one, under, union


def instantiate_class_body(m: Machine, node: ast.ClassDef) -> Value:
    """The class a class statement makes; its body is run here."""
    frame = m.frame
    bases = tuple(m.evaluate(base.value if isinstance(base, ast.Starred) else base) for base in node.bases)
    keywords = {k.arg: m.evaluate(k.value) for k in node.keywords if k.arg}
    decorators = tuple(m.evaluate(d) for d in node.decorator_list)
    attrs: dict[str, Value] = {}
    cls = Class(node, frame.home, bases, attrs, keywords, decorators)
    m.frames.append(Frame(frame.home, (*frame.scopes, attrs), None, frame.chain, owner=cls, entered=frame.entered))
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

    kind = library.kind_of(cls)
    made = m.new(kind, node, cls)
    made.notes["args"] = args
    made.notes["given_rank"] = any(value.per_rank for value in args.all())
    library.born(m, made)
    init = cls.lookup("__init__")
    if not library.worth_making(made, cls) and not any(_worth_following(value) for value in args.all()):
        return one(made)
    if init is not None:
        m.apply(bind(init, made, cls), args, node)
    elif (fields := _fields(cls)) is not None:
        _fill(m, made, fields, cls, args)
        post = cls.lookup("__post_init__")
        if post is not None:
            m.apply(bind(post, made, cls), Arguments(), node)
    else:
        library.initialise(m, made, args, node)
    return one(made)


def _worth_following(value: Value) -> bool:
    """Whether it matters what a constructor does with this argument: a network, or what was drawn at random."""
    held = any(isinstance(atom, Obj) and atom.kind in ("ddp", "module") for atom in value.atoms())
    return held or bool(drawn(value.taint) or ordered_by(value))


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
                if tells_rank(name):
                    value = _or_given(value, f"field {name} of {cls.key}")
        made.attrs[name] = value


def _or_given(default: Value, field: str) -> Value:
    """The default of a field for the rank, or the rank that configuration gives in its place."""
    atom = default.only
    if not isinstance(atom, Const) or not atom.soft:
        return default
    key = Key(f"default of {field}")
    given = one(Sym(field, ranked=True))
    return union([under(one(Const(atom.value)), fact(key, True)), under(given, fact(key, False))])


def _default(m: Machine, default: Value) -> Value:
    atom = default.only
    if isinstance(atom, Obj) and atom.kind == "field":
        factory = atom.attrs.get("default_factory")
        if factory is not None:
            return m.apply(factory, Arguments(), None)
        return _default(m, atom.attrs["default"]) if "default" in atom.attrs else one(Sym("field"))
    if isinstance(atom, Const) and isinstance(atom.value, int | float | bool):
        return one(Const(atom.value, soft=True))
    return default
