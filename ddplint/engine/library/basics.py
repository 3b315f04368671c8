"""Built-in functions about one thing: conversions, types, attributes, records."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import replace
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.conditions import Key, fact
from ddplint.engine.gradients import sizes, without_graph
from ddplint.engine.library.making import attribute_was_set, has_method
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.names import DATA_LOADER, DDP, DISTRIBUTED_SAMPLER, MODULE
from ddplint.engine.overriding import override_names, set_unseen
from ddplint.engine.values import (
    FALSE,
    FOLDING_ERRORS,
    NONE,
    PICKED,
    TRUE,
    Atom,
    Bound,
    Class,
    Const,
    Func,
    Lib,
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
    spelled,
    split,
    under,
    union,
)

_LONGEST_TEXT = 4000
_WIDE = re.compile(r"\d{4}")
"""A width or precision of a thousand characters or more."""


@handles("builtins.int", "builtins.float", "builtins.str", "builtins.bool", "builtins.abs", "builtins.round")
def _convert(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not args.positional:
        return const({"int": 0, "float": 0.0, "str": "", "bool": False}.get(name[9:]))
    convert = {"int": int, "float": float, "str": str, "bool": bool, "abs": abs, "round": round}[name[9:]]
    if name == "builtins.bool":
        yes, no = split(args.positional[0])
        return boolean(yes, no)

    def of(atom: Atom) -> Value:
        if isinstance(atom, Const):
            try:
                return one(Const(convert(atom.value), atom.soft))  # type: ignore[operator]
            except FOLDING_ERRORS:
                return one(Sym(f"{name}({atom.key})", opaque=False))
        if isinstance(atom, Ranked):
            try:
                return one(Ranked(tuple(convert(value) for value in atom.values), atom.role))  # type: ignore[operator]
            except FOLDING_ERRORS:
                return one(Sym(f"{name}({atom.key})", ranked=True, opaque=False))
        if isinstance(atom, Obj) and atom.kind == "path":
            return atom.notes["value"]  # type: ignore[no-any-return]
        if isinstance(atom, Sym):
            return one(replace(atom, made_of=without_graph(atom.made_of)) if name in _NUMBERS else atom)
        return one(blend(name, spelled(one(atom))))

    return m.choose(args.positional[0], of)


_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.str"})


@handles("builtins.type")
def _type(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    def of(atom: Atom) -> Value:
        if isinstance(atom, Obj) and atom.cls is not None:
            return one(atom.cls)
        if isinstance(atom, Const):
            return one(Lib(f"builtins.{type(atom.value).__name__}"))
        return one(Sym(f"type({atom.key})", opaque=True))

    return m.choose(first_argument(args), of)


def classes(value: Value) -> list[Atom]:
    """The classes that the second argument of ``isinstance`` names."""
    wanted: list[Atom] = []
    for atom in value.atoms():
        known = exact_elements(one(atom))
        if known is None:
            wanted.append(atom)
        else:
            wanted += [inner for value in known for inner in value.atoms()]
    return wanted


@handles("builtins.isinstance", "builtins.issubclass")
def _isinstance(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if len(args.positional) < 2:
        return TRUE
    wanted = classes(args.positional[1])

    def of(atom: Atom) -> Value:
        answers = [is_instance(atom, cls) for cls in wanted]
        if any(answer is True for answer in answers):
            return TRUE
        if all(answer is False for answer in answers):
            return FALSE
        key = Key(f"isinstance({atom.key}, {'|'.join(c.key for c in wanted)})", False)
        return boolean(fact(key, True), fact(key, False))

    return m.choose(args.positional[0], of)


_KIND_CLASSES = {
    "ddp": {DDP, MODULE},
    "dp": {MODULE},
    "module": {MODULE},
    "sampler": {DISTRIBUTED_SAMPLER, "torch.utils.data.Sampler"},
    "loader": {DATA_LOADER},
    "dict": {"builtins.dict", "collections.abc.Mapping", "typing.Mapping", "collections.OrderedDict", "typing.Dict"},
    "list": {"builtins.list", "collections.abc.Sequence", "typing.Sequence", "typing.List"},
    "tuple": {"builtins.tuple", "collections.abc.Sequence", "typing.Sequence", "typing.Tuple"},
    "set": {"builtins.set"},
    "path": {"pathlib.Path", "pathlib.PurePath"},
    "optimizer": {"torch.optim.Optimizer", "torch.optim.optimizer.Optimizer"},
    "namespace": {"argparse.Namespace"},
}


_STRUCTURAL = {"Callable": "__call__", "Iterable": "__iter__", "Iterator": "__next__", "Sized": "__len__"}
"""Abstract classes of which everything is an instance that has the method."""
_BY_METHOD = {
    "__call__": frozenset({"module", "ddp", "dp"}),
    "__iter__": frozenset({"loader", "sampler", "iterator", "iterable", "generator", "list", "tuple", "set", "dict"}),
    "__next__": frozenset({"iterator", "generator"}),
    "__len__": frozenset({"loader", "sampler", "list", "tuple", "set", "dict"}),
}


def _is_abstract(name: str) -> bool:
    return name.startswith(("typing.", "collections.abc."))


def _defines(thing: Obj, name: str) -> bool:
    return isinstance(thing.cls, Class) and thing.cls.lookup(name) is not None


def is_instance(atom: Atom, cls: Atom) -> bool | None:
    """Whether it is one; None where that cannot be told."""
    if isinstance(cls, Sym):
        return None
    if isinstance(cls, Lib) and (asked := _STRUCTURAL.get(cls.name.rsplit(".", 1)[-1])) and _is_abstract(cls.name):
        if isinstance(atom, Func | Class | Bound | Partial):
            return asked == "__call__"
        if isinstance(atom, Obj) and (atom.kind in _BY_METHOD[asked] or _defines(atom, asked)):
            return True
    if isinstance(atom, Const):
        if isinstance(cls, Lib) and cls.name.startswith("builtins."):
            return type(atom.value).__name__ == cls.name[9:] or (
                cls.name == "builtins.int" and isinstance(atom.value, bool)
            )
        return False
    if isinstance(atom, Ranked):
        return isinstance(cls, Lib) and cls.name == f"builtins.{type(atom.values[0]).__name__}"
    if not isinstance(atom, Obj):
        told = isinstance(cls, Class) or (isinstance(cls, Lib) and not cls.name.startswith(("types.", "builtins.type")))
        return False if told and not isinstance(atom, Sym) else None
    own: set[str] = set(_KIND_CLASSES.get(atom.kind, ()))
    if isinstance(atom.cls, Class):
        for base in atom.cls.mro():
            if base is cls:
                return True
            if isinstance(base, Lib):
                own.add(base.name)
        if isinstance(cls, Lib) and cls.name in own:
            return True
        if atom.cls.opaque_base:
            return None
        if isinstance(cls, Class):
            return False
        if any(
            isinstance(b, Lib) and b.name.split(".")[0] not in ("torch", "builtins", "typing", "abc")
            for b in atom.cls.mro()
        ):
            return None
        return False
    if isinstance(atom.cls, Lib):
        own.add(atom.cls.name)
        if atom.cls.name.endswith("Sampler") and atom.cls.name.startswith("torch."):
            own.add("torch.utils.data.Sampler")
    if isinstance(cls, Lib) and cls.name in own:
        return True
    if atom.kind in ("instance", "module") and isinstance(atom.cls, Lib) and not atom.cls.name.startswith("torch"):
        return None
    if isinstance(cls, Lib) and cls.name.split(".")[0] not in ("torch", "builtins", "apex", "collections", "typing"):
        return False if atom.kind in ("ddp", "loader", "sampler") else None
    return False


@handles("builtins.hasattr")
def _hasattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    literal = args.positional[1].constant() if len(args.positional) > 1 else ...
    if not isinstance(literal, str):
        return one(blend("hasattr", args.all()))

    def of(atom: Atom) -> Value:
        answer = has(atom, literal)
        if answer is not None:
            return const(answer)
        key = Key(f"hasattr({atom.key}, {literal})", False)
        return boolean(fact(key, True), fact(key, False))

    return m.choose(args.positional[0], of)


def has(atom: Atom, name: str) -> bool | None:
    """Whether it has the attribute; None where that cannot be told."""
    if isinstance(atom, Const | Ranked):
        return None if isinstance(atom, Const) and atom.value is not None else False
    if isinstance(atom, Obj):
        if name in atom.attrs:
            return True
        if isinstance(atom.cls, Class):
            if atom.cls.lookup(name) is not None:
                return True
            if atom.cls.opaque_base or atom.cls.lookup("__getattr__") is not None:
                return None
        if has_method(atom, name) and name != "no_sync":
            return True
        if name == "module":
            return True if atom.kind in ("ddp", "dp") else (False if atom.kind == "module" else None)
        if name == "no_sync":
            return atom.kind == "ddp" if atom.kind in ("ddp", "module", "dp") else None
        if name == "set_epoch":
            if atom.kind == "sampler":
                return True
            if atom.kind == "loader" or (isinstance(atom.cls, Lib) and atom.cls.name.startswith("torch.utils.data")):
                return False
            if isinstance(atom.cls, Class) and atom.kind == "instance":
                return False
        if name in ("state_dict", "step", "zero_grad"):
            return True if atom.kind in ("module", "ddp", "dp", "optimizer") else None
        if (name == "sampler" and atom.kind == "loader") or (name == "batch_sampler" and atom.kind == "loader"):
            return True
        if atom.kind == "dict":
            return False
        return None
    return None


@handles("builtins.getattr")
def _getattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.attributes import attribute as read

    if len(args.positional) < 2:
        return one(Sym("getattr"))
    literal = args.positional[1].constant()
    if not isinstance(literal, str):
        owner = args.positional[0].only
        if isinstance(owner, Lib):
            return one(blend(f"{owner.name} by name", [args.positional[1]], opaque=True))
        return one(blend("getattr", args.all(), opaque=True))
    default = args.positional[2] if len(args.positional) > 2 else None

    def of(atom: Atom) -> Value:
        answer = has(atom, literal)
        if answer is False and default is not None:
            return default
        found = read(m, one(atom), literal, None)
        if answer is None and default is not None and isinstance(atom, Sym | Obj):
            if isinstance(atom, Obj) and atom.kind == "namespace" and literal not in atom.attrs:
                return found
            key = Key(f"hasattr({atom.key}, {literal})", False)
            return union([under(found, fact(key, True)), under(default, fact(key, False))])
        if literal == "set_epoch" and isinstance(atom, Obj) and atom.kind == "sampler":
            return (
                one(Bound(atom, "set_epoch", None))
                if not isinstance(atom.cls, Class) or atom.cls.lookup("set_epoch") is None
                else found
            )
        return found

    return m.choose(args.positional[0], of)


@handles("builtins.setattr")
def _setattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if len(args.positional) < 3:
        return NONE
    thing, attribute, value = args.positional[:3]
    literal = attribute.constant()
    for atom in thing.atoms():
        if isinstance(atom, Obj) and isinstance(literal, str):
            m.write(atom.attrs, literal, value)
            if node is not None:
                attribute_was_set(m, atom, literal, value, node)
        elif isinstance(atom, Obj | Class):
            set_unseen(m, atom, attribute, value)
    return NONE


@handles("builtins.exec")
def _exec(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if first_argument(args).constant() is ...:
        home = m.frame.home
        override_names(m, home.names, os.path.basename(home.path))
    return NONE


@handles("builtins.range", "builtins.len", "itertools.count", "tqdm.trange", "tqdm.auto.trange")
def _range(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name == "builtins.len":
        given = first_argument(args)
        atom = given.only
        if isinstance(atom, Obj) and atom.kind in ("list", "tuple", "dict") and not atom.notes.get("loose"):
            return const(len(atom.attrs))
        length = blend("len", [given], opaque=False)
        if PICKED in length.made_of:
            return one(Sym(length.text, length.ranked, False, length.opaque, sizes(length.made_of)))
        return one(Sym(length.text, length.ranked, True, length.opaque, frozenset()))
    made = m.new("range", node)
    made.notes["count"], made.notes["rounds"] = _counting(name, args.positional)
    if name != "itertools.count" and len(args.positional) > 1:
        # each rank begins at a number of its own, or takes steps of its own
        made.notes["per_rank"] = any(value.per_rank for value in (args.positional[0], *args.positional[2:]))
    literals = [value.constant() for value in args.positional]
    if name == "itertools.count":
        made.notes["endless"] = True
    elif literals and all(isinstance(x, int) for x in literals) and not _soft(args.positional):
        try:
            numbers = range(*literals)
        except (TypeError, ValueError):
            numbers = range(2)
        made.notes["length"] = len(numbers)
        made.notes["start"] = numbers[0] if numbers else 0
    return one(made)


def _counting(name: str, bounds: list[Value]) -> tuple[str, str]:
    """The text of what a range counts, with a gap for the loop's mark, and of how often a loop over it goes round."""
    if name == "itertools.count" or not 0 < len(bounds) < 3:
        return f"count by {len(bounds)} {{}}", ""
    if len(bounds) == 1 or bounds[0].constant() == 0:
        return "count {}", bounds[-1].key
    start = bounds[0].key.replace("{", "{{").replace("}", "}}")
    return f"Add(count {{}}, {start})", f"Sub({bounds[1].key}, {bounds[0].key})"


def _soft(values: list[Value]) -> bool:
    return any(isinstance(atom, Const) and atom.soft for value in values for atom in value.atoms())


@handles("builtins.super")
def _super(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    for frame in reversed(m.frames):
        if frame.func is not None and frame.owner is not None:
            me = frame.me
            if me is None:
                first = next(iter(frame.scopes[-1].values()), None)
                me = first.only if first is not None else None
            return one(Super(frame.owner, me or Sym("self")))
    return one(Sym("super"))


@handles("builtins.exit", "builtins.quit", "sys.exit", "os._exit", "os.abort")
def _exit(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    m.die()
    return NONE


@handles("functools.partial")
def _partial(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not args.positional:
        return one(Sym("partial"))
    return one(Partial(args.positional[0], args.positional[1:], dict(args.keywords)))


@handles("functools.wraps", "functools.lru_cache", "functools.cache")
def _identity(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("identity decorator", node))


@handles(
    "dataclasses.dataclass", "attr.s", "attr.attrs", "attrs.define", "attrs.frozen", "attr.define", "attr.dataclass"
)
def _record(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    first = first_argument(args)
    if args.positional and isinstance(first.only, Class):
        cls = first.only
        cls.fields = tuple(
            s.target.id for s in cls.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        )
        return first
    return one(m.new("record decorator", node))


@handles("dataclasses.field", "attr.ib", "attrs.field")
def _field(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("field", node)
    for key, names in (("default", ("default",)), ("default_factory", ("default_factory", "factory"))):
        value = args.get(None, *names)
        if value is not None:
            made.attrs[key] = value
    return one(made)


@handles("dataclasses.replace", "dataclasses.asdict")
def _replace(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return first_argument(args)


@handles("collections.namedtuple")
def _namedtuple(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    names = args.positional[1].constant() if len(args.positional) > 1 else ...
    known = exact_elements(args.positional[1]) if len(args.positional) > 1 else None
    fields = names.replace(",", " ").split() if isinstance(names, str) else [v.constant() for v in known or []]
    return one(m.new("record", node, fields=[f for f in fields if isinstance(f, str)]))


@handles("enum.auto")
def _auto(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return const(getattr(node, "lineno", 0))  # a number of its own


def text_method(me: Const, text: str, name: str, args: Arguments) -> Value:
    """A method of a text: the literal it gives, where all that takes part is literal."""
    literals = [value.constant() for value in args.positional]
    if name in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "format", "removeprefix"):
        is_literal = all(isinstance(x, str) for x in literals) and not args.keywords
        if is_literal and (literals or name != "format") and not _explodes(text, name, literals):
            try:
                result = getattr(text, name)(*literals)
            except FOLDING_ERRORS:
                result = ...
            if isinstance(result, str | bool):
                return const(result)
    first = args.positional[0] if args.positional else None
    if name == "join" and first is not None:
        first = (exact_elements(first) or [first])[0]
    elif name == "format" and not text.startswith("{"):
        first = None
    return one(facts.begun_by(blend(f"{me.key[:60]}.{name}", args.all(), opaque=False), first))


def _explodes(text: str, name: str, literals: list[Any]) -> bool:
    """Whether the method may give a text far longer than what it is made of."""
    longest = max((len(literal) for literal in literals), default=0)
    if name == "format":
        is_wide = ":" in text and _WIDE.search(" ".join([text, *literals])) is not None
        return is_wide or text.count("{") * longest > _LONGEST_TEXT
    return name == "replace" and len(text) * longest > _LONGEST_TEXT
