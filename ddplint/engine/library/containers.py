"""Iterables and containers."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.conditions import ALWAYS, LOST, NEVER, Key, conjoin, disjoin, fact
from ddplint.engine.iteration import begin_pass, draw, iterate, shared_out
from ddplint.engine.library.registry import first_argument, handles, is_loader, iterable
from ddplint.engine.machine import Machine
from ddplint.engine.members import method as project_method
from ddplint.engine.ordering import add_marks, drawn_outside, mark_order, pick
from ddplint.engine.overriding import override
from ddplint.engine.values import (
    NONE,
    Alternative,
    Atom,
    Class,
    Lib,
    Obj,
    Sym,
    Value,
    blend,
    boolean,
    const,
    one,
    split,
    under,
    union,
)


@handles("copy.deepcopy", "copy.copy")
def _copy(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    copied: list[Alternative] = []
    for case, atom in first_argument(args).alternatives:
        if isinstance(atom, Obj):
            twin = m.new(atom.kind, atom.site, atom.cls)
            twin.attrs.update(atom.attrs)
            twin.notes.update({k: v for k, v in atom.notes.items() if k not in ("chain", "loops", "worker")})
            twin.notes["copy of"] = atom
            if atom.kind == "ddp":
                inner = (
                    [a for a in atom.attrs["module"].atoms() if isinstance(a, Obj)] if "module" in atom.attrs else []
                )
                if inner:
                    inner_twin = m.new(inner[0].kind, inner[0].site, inner[0].cls)
                    inner_twin.attrs.update(inner[0].attrs)
                    twin.attrs["module"] = one(inner_twin)
            copied.append((case, twin))
        else:
            copied.append((case, atom))
    return Value(tuple(copied)) if copied else NONE


@handles("builtins.enumerate")
def _enumerate(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = first_argument(args)
    start = args.get(1, "start")

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        def step(element: Value) -> None:
            text = f"number {m.loops[-1].mark if m.loops else ''}"
            if start is not None and start.constant() != 0:
                text = f"Add({text}, {start.key})"
            pair = m.new("tuple", spot)
            pair.attrs["[0]"] = one(Sym(text, counter=True, opaque=False))
            pair.attrs["[1]"] = element
            body(one(pair))

        iterate(m, where, spot, source, step)

    return iterable(m, node, drive, [source])


@handles("builtins.zip")
def _zip(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    sources = args.positional
    if args.rest or not sources:
        return one(blend("zip", args.all()))

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        lead = next((i for i, s in enumerate(sources) if any(is_loader(a) for a in s.atoms())), 0)
        others: dict[int, Value] = {}
        for number, source in enumerate(sources):
            if number != lead:
                for atom in source.atoms():
                    if is_loader(atom):
                        m.record(facts.Iterate, spot, loader=atom, grad=m.grad)
                others[number] = draw(m, source)

        def step(element: Value) -> None:
            row = m.new("tuple", spot)
            for number in range(len(sources)):
                row.attrs[f"[{number}]"] = element if number == lead else others[number]
            body(one(row))

        iterate(m, where, spot, sources[lead], step)

    return iterable(m, node, drive, sources)


@handles(
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.std.tqdm", "tqdm.rich.tqdm", "rich.progress.track",
    "itertools.islice", "tqdm.tqdm_notebook", "tqdm.asyncio.tqdm", "tqdm.autonotebook.tqdm",
    "prefetch_generator.BackgroundGenerator",
)  # fmt: skip
def _through(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = args.get(0, "iterable", "sequence", "generator")
    if source is None:
        return one(Sym("progress bar", opaque=False))
    if "tqdm" in name and not any(isinstance(a, Obj) for a in source.atoms()):
        return source
    if node is not None and name == "itertools.islice" and any(bound.per_rank for bound in args.positional[1:]):
        shared_out(m, source, node)
    bare = name != "itertools.islice"
    return iterable(m, node, lambda m, where, spot, body: iterate(m, where, spot, source, body), [source], bare=bare)


@handles("itertools.cycle", "itertools.repeat")
def _cycle(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = first_argument(args)
    if name == "itertools.repeat":
        return iterable(m, node, lambda m, where, spot, body: m.loop(where, lambda turn: body(source)))

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        _replayed(m, source, spot, "itertools.cycle")
        element = draw(m, source)
        over = frozenset(a for a in source.atoms() if isinstance(a, Obj) and a.kind == "loader")
        m.loop(where, lambda turn: body(element), over=over)

    return iterable(m, node, drive)


def _replayed(m: Machine, source: Value, spot: ast.AST, how: str) -> None:
    for atom in source.atoms():
        if is_loader(atom):
            m.record(facts.Iterate, spot, loader=atom, grad=m.grad, replay=how)


@handles("itertools.chain", "itertools.chain.from_iterable")
def _chain(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    sources = args.positional

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        for source in sources:
            if name.endswith("from_iterable"):
                iterate(m, where, spot, source, lambda element: iterate(m, where, spot, element, body))
            else:
                iterate(m, where, spot, source, body)

    return iterable(m, node, drive, sources)


@handles("builtins.any", "builtins.all")
def _any(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    elements = exact_elements(first_argument(args))
    if elements is None:
        return one(blend(name, args.all(), opaque=False))
    every, some = (NEVER, ALWAYS) if name == "builtins.any" else (ALWAYS, NEVER)
    for element in elements:
        yes, no = split(element)
        every = disjoin(every, yes) if name == "builtins.any" else conjoin(every, yes)
        some = conjoin(some, no) if name == "builtins.any" else disjoin(some, no)
    return boolean(every, some)


@handles("builtins.map", "builtins.filter")
def _map(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:

    if len(args.positional) < 2:
        return one(Sym(name))
    function, source = args.positional[:2]
    keeps = name == "builtins.filter"

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        def step(element: Value) -> None:
            result = m.apply(function, Arguments([element]), spot)
            body(element if keeps else result)

        iterate(m, where, spot, source, step)

    return iterable(m, node, drive, [source])


@handles("builtins.iter")
def iterator_of(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """``iter(...)``; of a loader, the start of a pass over it; with a sentinel, what a function gives until then."""
    if len(args.positional) == 2:
        given = m.apply(args.positional[0], Arguments(), node)
        return one(m.new("iterator", node, source=given, element=given))

    def of(atom: Atom) -> Value:
        if is_loader(atom) and isinstance(atom, Obj) and project_method(atom, "__iter__") is None:
            if node is not None:
                begin_pass(m, atom, node)
            return one(m.new("iterator", node, source=one(atom), element=draw(m, one(atom))))
        if isinstance(atom, Obj) and isinstance(atom.cls, Class):
            own = project_method(atom, "__iter__")
            if own is not None:
                return m.apply(own, Arguments(), node)
        if isinstance(atom, Obj) and atom.kind in ("generator", "iterable", "iterator"):
            return one(atom)
        if isinstance(atom, Sym):
            return one(Sym(f"iterator of {atom.text[:80]}", atom.ranked, False, atom.opaque, atom.made_of))
        return one(m.new("iterator", node, source=one(atom), element=draw(m, one(atom))))

    return m.choose(first_argument(args), of)


@handles("builtins.next")
def _next(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    drawn = draw(m, first_argument(args))
    if len(args.positional) < 2:
        return drawn
    turn = m.loops[-1].mark if m.loops else ""
    ended = Key(f"{first_argument(args).key} has ended {turn}")
    return union([under(drawn, fact(ended, False)), under(args.positional[1], fact(ended, True))])


def iterator_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """``it.__next__()``, and ``it.next()`` as older versions of torch spell it; None where it is another."""
    return draw(m, one(me)) if name in ("__next__", "next") else None


@handles(
    "builtins.list", "builtins.set", "builtins.sorted", "builtins.reversed", "builtins.frozenset", "collections.deque"
)
def collected(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A list or a set of what can be gone over; ``reversed`` and ranges stay something to go over."""
    if not args.positional:
        return one(m.new("list" if "set" not in name else "set", node))
    source = args.positional[0]
    atom = source.only
    if name == "builtins.reversed" or (isinstance(atom, Obj) and atom.kind == "range"):
        return iterable(m, node, lambda m, where, spot, body: iterate(m, where, spot, source, body), [source])
    if isinstance(atom, Obj) and atom.kind in ("list", "tuple", "set"):
        made = m.new("tuple" if name == "builtins.tuple" else "list", node)
        mark_order(made, [source])
        made.attrs.update(atom.attrs)
        made.notes["loose"] = atom.notes.get("loose", False)
        return one(made)
    made = m.new("list", node, loose=True)
    mark_order(made, [source])
    spot = node if node is not None else ast.Pass()
    _replayed(m, source, spot, "list")
    for loader in source.atoms():
        if isinstance(loader, Obj) and loader.kind == "loader":
            made.attrs["*"] = draw(m, one(loader))
            return one(made)
    if isinstance(atom, Obj) and atom.kind in ("iterable", "generator", "dict"):
        drawn: list[Value] = []
        iterate(m, spot, spot, source, drawn.append)
        if drawn:
            made.attrs["*"] = union(drawn)
        return one(made)
    element = draw(m, source)
    made.attrs["*"] = element
    if source.per_rank:
        return one(Sym(f"list of {source.key}", True, False, source.opaque, source.taint))
    return one(made)


@handles("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "addict.Dict", "attrdict.AttrDict",
          "box.Box", "easydict.EasyDict", "fvcore.common.config.CfgNode", "ml_collections.ConfigDict", "munch.Munch",
          "ml_collections.config_dict.ConfigDict", "omegaconf.DictConfig", "omegaconf.OmegaConf.create",
          "yacs.config.CfgNode")  # fmt: skip
def _dict(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.elements import item as item_of
    from ddplint.engine.elements import merge_dict, set_element

    made = m.new("dict", node)
    if name == "collections.defaultdict":
        made.notes["loose"] = True
        if args.positional and isinstance(factory := args.positional[0].only, Lib) and factory.name in _FACTORIES:
            made.notes["factory"] = factory
    elif args.positional:
        source = args.positional[0]
        atom = source.only
        if isinstance(atom, Obj) and atom.kind in ("iterable", "list", "generator"):

            def put(pair: Value) -> None:
                set_element(m, made, item_of(m, pair, const(0)), item_of(m, pair, const(1)))

            spot = node if node is not None else ast.Pass()
            iterate(m, spot, spot, source, put)
        else:
            merge_dict(m, made, source)
    for key, value in args.keywords.items():
        made.attrs[f"[{key!r}]"] = value
    for value in args.more:
        merge_dict(m, made, value)
        made.notes["loose"] = True
    return one(made)


_FACTORIES = frozenset(
    {"builtins.list", "builtins.dict", "builtins.set", "collections.OrderedDict", "collections.deque"}
)
"""What a ``defaultdict`` makes that is worth following: something that is filled later."""


def loose_list(m: Machine, node: ast.AST | None, values: list[Value]) -> Value:
    """A list of unknown length whose elements are among ``values``."""
    made = m.new("list", node, loose=True)
    made.attrs["*"] = union(values)
    return one(made)


def dict_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a dictionary."""
    from ddplint.engine.elements import element, merge_dict, set_element

    if name in ("get", "pop", "setdefault") and args.positional:
        index = args.positional[0]
        literal = index.constant()
        default = args.positional[1] if len(args.positional) > 1 else NONE
        if literal is not ... and f"[{literal!r}]" in me.attrs:
            return element(m, me, literal, index)
        if literal is not ... and not me.notes.get("loose"):
            if name == "setdefault":
                set_element(m, me, index, default)
            return default
        found = element(m, me, literal, index)
        if name == "setdefault":
            set_element(m, me, index, default)
            found = union([found, default])
        return found if found.opaque else union([found, default])
    if name == "update":
        for value in args.positional:
            merge_dict(m, me, value)
        for key, value in args.keywords.items():
            m.write(me.attrs, f"[{key!r}]", value)
        return NONE
    if name.startswith(("merge", "load", "override")):
        override(m, me)
        return one(me)
    if name in ("copy", "clone"):
        return _copy(m, name, Arguments([one(me)]), node)
    names = [key for key in me.attrs if key.startswith("[")]
    loose = me.notes.get("loose") or "*" in me.attrs
    if name in ("keys", "values", "items"):
        made = m.new("list", node, loose=bool(loose))
        for number, key in enumerate(names):
            made.attrs[f"[{number}]"] = entry_value(m, name, _key_value(key), me.attrs[key].within(m.path), node)
        if loose:
            states = frozenset(facts.KeyOf(state) for state in me.notes.get("states", ()))
            anything = me.attrs.get("*") or one(
                Sym(f"value of {me.key}", made_of=frozenset(facts.PartOf(s) for s in me.notes.get("states", ())))
            )
            key_value = one(Sym(f"key of {me.key}", opaque=False, made_of=states))
            made.attrs["*"] = entry_value(m, name, key_value, anything, node)
        if len(names) > 8:
            made.notes["loose"] = True
        return one(made)
    return one(Sym(f"{me.key}.{name}"))


def entry_value(m: Machine, name: str, key: Value, value: Value, node: ast.AST | None) -> Value:
    """What ``keys``, ``values`` or ``items`` (``name``) gives for one entry."""
    if name == "keys":
        return key
    if name == "values":
        return value
    pair = m.new("tuple", node)
    pair.attrs["[0]"], pair.attrs["[1]"] = key, value
    return one(pair)


def _key_value(name: str) -> Value:
    try:
        return const(ast.literal_eval(name[1:-1]))
    except (ValueError, SyntaxError):
        return one(Sym(name))


def list_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a list, a tuple, a set or a deque."""
    from ddplint.engine.elements import element, taken_from

    if name in ("append", "add", "appendleft", "insert", "extend", "update"):
        value = args.positional[-1] if args.positional else NONE
        if name in ("extend", "update"):
            mark_order(me, [value])
            value = draw(m, value)
        elif isinstance(node, ast.Call) and node.args:
            mark_order(me, taken_from(m, node.args[-1]))
        pick(m.trace, me, m.path)
        around = m.loops[len(me.notes.get("loops", ())) :]
        add_marks(me, (draw for loop in around for draw in loop.order if drawn_outside(draw, around)))
        in_loop = any(loop.repeats for loop in around)
        if name == "append" and not in_loop and not me.notes.get("loose"):
            m.write(me.attrs, f"[{len(me.attrs)}]", value)
            return NONE
        old = me.attrs.get("*")
        m.write(me.attrs, "*", union([old, value]) if old is not None else value)
        me.notes["loose"] = True
        if any(key.per_rank and key != LOST for case in m.path for key, _ in case.facts):
            me.notes["per_rank"] = True
        return NONE
    if name in ("pop", "popleft"):
        return element(m, me, ..., one(Sym("index")))
    if name == "copy":
        return _copy(m, name, Arguments([one(me)]), node)
    if name in ("sort", "reverse", "clear", "remove", "discard"):
        return NONE
    if name == "_asdict":
        return one(me)
    return one(Sym(f"{me.key}.{name}", opaque=False))
