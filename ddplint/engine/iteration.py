"""Going over things: loaders, containers, generators and what is unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.binding import gives_nothing_at_times
from ddplint.engine.conditions import Key, Path, disjoin, fact
from ddplint.engine.machine import Machine
from ddplint.engine.members import method
from ddplint.engine.ordering import ordered_by
from ddplint.engine.values import (
    NONE,
    UNSEEN,
    Atom,
    Bound,
    Class,
    Func,
    Obj,
    Sym,
    Value,
    blend,
    const,
    one,
    under,
    union,
)

_MOST_UNROLLED = 8


def iterate(m: Machine, node: ast.AST, where: ast.AST, value: Value, body: Callable[[Value], object]) -> None:
    """Go over ``value``, once or twice, with ``body`` given what each round gets."""
    order = ordered_by(value)

    def in_order(element: Value) -> None:
        if m.loops:
            m.loops[-1].order |= order
        body(element)

    m.choose(_bare(value), lambda atom: _iterate(m, node, where, atom, in_order if order else body))


def _bare(value: Value) -> Value:
    """What is gone over, without what only shows the progress, and with one range for those that count alike.

    Ranks that differ in no more go round the loop together.
    """
    if len(value.alternatives) < 2:
        return value
    counts: dict[tuple[object, ...], Atom] = {}

    def alike(atom: Atom) -> Atom:
        if isinstance(atom, Obj) and atom.kind == "range" and atom.notes["rounds"] and not atom.per_rank:
            return counts.setdefault((atom.notes["count"], atom.notes["rounds"]), atom)
        return atom

    def source(atom: Atom) -> Value:
        return atom.notes["sources"][0] if isinstance(atom, Obj) and atom.notes.get("bare") else one(atom)

    gone_over = union(under(source(atom), (case,)) for case, atom in value.alternatives)
    return union(under(one(alike(atom)), (case,)) for case, atom in gone_over.alternatives)


def _iterate(m: Machine, node: ast.AST, where: ast.AST, atom: Atom, body: Callable[[Value], object]) -> Value:
    match atom:
        case Obj(kind="loader"):
            if (own := method(atom, "__iter__")) is not None:
                _own_iteration(m, node, where, atom, m.apply(own, Arguments(), where), body)
                return NONE
            begin_pass(m, atom, where)
            m.loop(node, lambda turn: body(batch_of(m, atom)), over=frozenset({atom}), rounds=_length(atom))
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
            _own_iteration(m, node, where, atom, m.apply(own, Arguments(), where), body)
        case Obj(kind="module") if "[0]" in atom.attrs or "*" in atom.attrs:
            _elements(m, node, atom, body)
        case _:
            _unknown(m, node, atom, body)
    return NONE


def begin_pass(m: Machine, loader: Obj, where: ast.AST) -> None:
    """A pass over a loader begins: its sampler, and an iterable data set, begin one as well."""
    from ddplint.engine.dealing import follow_orders

    follow_orders(m, loader, where)
    m.record(facts.Iterate, where, loader=loader, grad=m.grad)


def _own_iteration(
    m: Machine, node: ast.AST, where: ast.AST, thing: Obj, result: Value, body: Callable[[Value], object]
) -> None:
    """Go over what ``__iter__`` of a project's class gives; where that is the thing itself, over its ``__next__``."""
    if not any(atom is thing for atom in result.atoms()):
        iterate(m, node, where, result, body)
        return
    following = method(thing, "__next__")
    over = frozenset({thing}) if thing.kind == "loader" else frozenset()
    if over:
        m.record(facts.Iterate, where, loader=thing, grad=m.grad)

    def step(turn: facts.Loop) -> None:
        given = m.apply(following, Arguments(), where) if following is not None else one(Sym("next"))
        # whatever a loader's own batches go through, they are still its batches
        body(given if over <= given.taint else batch_of(m, thing))

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

    m.loop(node, step, over=loaders, rounds=_length(atom))


def _length(atom: Atom) -> str:
    """How many elements there are, as ``len`` spells it."""
    return blend("len", [one(atom)]).text


def batch_of(m: Machine, loader: Obj) -> Value:
    """A batch of a loader, or None where what puts it together may give that: the samples of the rank decide."""
    batch = one(Sym(f"batch of {loader.key}", opaque=False, made_of=frozenset({loader})))
    if not _may_be_nothing(loader):
        return batch
    key = Key(f"Eq(0, samples kept of {loader.key})")
    m.note_grounds(key, frozenset({loader}))
    return union([under(NONE, fact(key, True)), under(batch, fact(key, False))])


def _may_be_nothing(loader: Obj) -> bool:
    """Whether a loader's ``collate_fn`` is a function of the project that may give None in place of a batch."""
    args = loader.notes.get("args")
    collate = args.get(6, "collate_fn") if isinstance(args, Arguments) else None
    functions = (atom.func if isinstance(atom, Bound) else atom for atom in collate.atoms()) if collate else ()
    return any(isinstance(func, Func) and gives_nothing_at_times(func.node) for func in functions)


def _range(m: Machine, node: ast.AST, atom: Obj, body: Callable[[Value], object]) -> None:
    length = atom.notes.get("length")
    repeats = length is None or length > 1
    if length == 0:
        return

    def step(turn: facts.Loop) -> None:
        if not repeats:
            body(const(atom.notes.get("start", 0)))
            return
        body(one(Sym(atom.notes["count"].format(turn.mark), atom.per_rank, counter=True, opaque=False)))

    endless, rounds = bool(atom.notes.get("endless")), atom.notes["rounds"]
    m.loop(node, step, repeats=repeats, endless=endless, rounds=rounds)


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
    m.loop(node, lambda turn: body(element), rounds=_length(atom))


def _literal_key(name: str) -> Value:
    try:
        return const(ast.literal_eval(name[1:-1]))
    except (ValueError, SyntaxError):
        return one(Sym(name))


def _unroll(m: Machine, node: ast.AST, values: list[Value], body: Callable[[Value], object]) -> None:
    turn = facts.Loop(m.fresh(), m.site(node), len(values) > 1, rounds=str(len(values)))
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
    match atom:
        case Obj(kind="loader"):
            return batch_of(m, atom)
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
                return m.apply(following, Arguments(), atom.site.node if atom.site else None)
            if (own := method(atom, "__iter__")) is not None:
                return draw(m, m.apply(own, Arguments(), atom.site.node if atom.site else None))
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


def shared_out(m: Machine, source: Value, node: ast.AST) -> None:
    """Of what comes from ``source`` each rank takes a part of its own: it is not the loader that decides which."""
    for part in source.taint:
        if isinstance(part, Obj) and part.kind == "loader":
            m.record(facts.Escape, node, thing=part)
