"""What tests decide: on which paths they hold, and what is known of a name behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddplint.engine import library
from ddplint.engine.conditions import ALWAYS, NEVER, Key, Path, conjoin, disjoin, fact
from ddplint.engine.elements import item
from ddplint.engine.machine import Machine, relative
from ddplint.engine.operators import compare_values
from ddplint.engine.values import FALSE, NOTHING, Atom, Obj, Value, blend, const, one, split, truth, under, union


def boolop(m: Machine, node: ast.BoolOp) -> Value:
    """``and`` and ``or``: what decides, under the case in which it does."""
    results: list[Value] = []

    def step(number: int) -> None:
        value = m.evaluate(node.values[number])
        if number == len(node.values) - 1:
            results.append(under(value, relative(m.path, before)))
            return
        m.note_test(value)
        yes, no = split(value)
        stop, go_on = (no, yes) if isinstance(node.op, ast.And) else (yes, no)
        stopping = conjoin(m.path, stop)
        if stopping:
            kept = tuple(alt for alt in value.alternatives if _may(alt[1], isinstance(node.op, ast.Or)))
            results.append(under(Value(kept), conjoin(relative(m.path, before), stop)))
        if conjoin(m.path, go_on):
            m.fork([(go_on, lambda: step(number + 1)), (stop, lambda: None)])

    before = m.path
    _without_loss(m, lambda: step(0))
    return union(results) if results else FALSE


def _without_loss(m: Machine, run: Callable[[], None]) -> None:
    """``run`` parts and joins the path: what comes out is the path as it was, unless a part of it ended on the way."""
    before, died = m.path, m.frame.died
    m.frame.died = False
    run()
    if not m.frame.died:
        m.path = before
    m.frame.died = m.frame.died or died


def _may(atom: Atom, wanted: bool) -> bool:
    yes, no = truth(atom)
    return bool(yes if wanted else no)


def ifexp(m: Machine, node: ast.IfExp) -> Value:
    """``a if test else b``, each under its case."""
    yes, no = test(m, node.test)
    results: list[Value] = []

    def arm(expression: ast.expr, assumed: Path, holds: bool) -> Callable[[], None]:
        return narrowed(m, node.test, holds, lambda: results.append(under(m.evaluate(expression), assumed)))

    _without_loss(m, lambda: m.fork([(yes, arm(node.body, yes, True)), (no, arm(node.orelse, no, False))]))
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
            tested = m.evaluate(node)
            m.note_test(tested)
            return split(tested)


def pattern(m: Machine, node: ast.pattern, subject: Value) -> tuple[Path, Path, dict[str, Value]]:
    """When a ``case`` pattern matches, when not, and what it binds."""
    match node:
        case ast.MatchValue(value):
            yes, no = split(compare_values(m, ast.Eq(), subject, m.evaluate(value)))
            return yes, no, {}
        case ast.MatchSingleton(value):
            yes, no = split(compare_values(m, ast.Is(), subject, const(value)))
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
