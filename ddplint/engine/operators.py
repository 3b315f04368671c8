"""Calculations and comparisons, on what is known of their operands."""

from __future__ import annotations

import ast
import contextlib
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeGuard

from ddplint.engine import facts, library
from ddplint.engine.conditions import ALWAYS, NEVER, WORLD, Key, Path, conjoin, disjoin, fact
from ddplint.engine.gradients import by_ranks, compared, distorted
from ddplint.engine.machine import Machine
from ddplint.engine.ordering import drawn, drawn_lots, mark_order, order_kept, with_lots
from ddplint.engine.overriding import is_setting, override
from ddplint.engine.values import (
    FOLDING_ERRORS,
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
    Sym,
    Value,
    blend,
    boolean,
    const,
    element_name,
    one,
    per_rank_values,
    split,
    truth,
    under,
    union,
)

OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
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
LONGEST_TEXT = 400
_WIDE = re.compile(r"%[-+ #0]*(?:\d{4}|\d*\.\d{4})")
"""A conversion in a format that is a thousand characters wide or more."""


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
    calculate = OPERATORS.get(type(op))
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
    if isinstance(op, ast.FloorDiv | ast.Div) and isinstance(left, Const) and _is_size(right):
        # another number at each launch
        return one(Sym(f"share of {left.key} among {right.role} {right.values[0]}", opaque=False))
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
        mark_order(joined, [one(left), one(right)])
        for source in (left, right):
            if isinstance(source, Obj) and source.kind == left.kind:
                for key, value in source.attrs.items():
                    if left.kind == "dict":
                        joined.attrs[key] = value
                    else:
                        joined.attrs[element_name(len(joined.attrs))] = value
                joined.notes["loose"] = bool(joined.notes.get("loose") or source.notes.get("loose"))
            else:
                if left.kind == "dict" and is_setting(one(source)):
                    override(m, joined)
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
    if isinstance(left, Sym) and isinstance(right, Sym) and drawn(made.made_of):
        # element by element: both have the order that what comes out of it has
        made = replace(made, made_of=order_kept(made.made_of, [one(left)]) & order_kept(made.made_of, [one(right)]))
    cut = distorted(left.taint)
    if cut and (isinstance(op, ast.Pow) or (isinstance(op, ast.Div) and by_ranks(m.trace, [one(right)]))):
        made = replace(made, made_of=made.made_of | cut)
    return one(facts.begun_by(made, one(left)) if isinstance(op, ast.Add) else made)


def _is_size(atom: Atom) -> TypeGuard[Ranked]:
    """Whether it is the number of ranks, or calculated from that alone."""
    return isinstance(atom, Ranked) and atom.role == "world size" and not atom.per_rank


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
        return len(value) < LONGEST_TEXT
    return isinstance(value, bool | int | float | None) and (not isinstance(value, int) or abs(value) < 1 << 64)


def _explodes(op: ast.operator, left: Any, right: Any) -> bool:
    """Whether ``left op right`` may be a text far longer than what it is made of."""
    if isinstance(op, ast.Mult):
        for text, times in ((left, right), (right, left)):
            if isinstance(text, str | bytes) and isinstance(times, int) and len(text) * times >= LONGEST_TEXT:
                return True
    if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
        pattern = left if isinstance(left, str) else left.decode("latin-1")
        return _WIDE.search(pattern) is not None
    return False


def unary(m: Machine, node: ast.UnaryOp) -> Value:
    """``not x`` and ``-x``."""
    value = m.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        m.note_test(value)
        yes, no = split(value)
        return boolean(no, yes)
    literal = value.constant()
    if isinstance(node.op, ast.USub) and isinstance(literal, int | float):
        return const(-literal)
    return one(blend(type(node.op).__name__, [with_lots(m.trace, value)]))


def compare(m: Machine, node: ast.Compare) -> Value:
    """A chain of comparisons."""
    left = m.evaluate(node.left)
    result: Value | None = None
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = m.evaluate(comparator)
        answer = compare_values(m, op, left, right)
        if result is None:
            result = answer
        else:
            yes, no = split(result)
            then, otherwise = split(answer)
            result = boolean(conjoin(yes, then), disjoin(no, conjoin(yes, otherwise)))
        left = right
    assert result is not None
    return result


def compare_values(m: Machine, op: ast.cmpop, left: Value, right: Value) -> Value:
    """The truth of one comparison, by what its sides can be."""
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
    calculate = OPERATORS[type(op)]
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
        for one_side, other in ((left, right), (right, left)):
            if isinstance(one_side, Const) and isinstance(one_side.value, bool) and _is_truth(m, other):
                yes, no = truth(other)
                return (yes, no) if one_side.value else (no, yes)
        if left is right or left == right:
            if isinstance(op, ast.Eq) and any(isinstance(part, facts.Forward) for part in left.taint):
                key = Key(f"isnan({left.key})")  # what a network gave is itself, or no number
                m.note_grounds(key, compared(left.taint))
                return fact(key, False), fact(key, True)
            return ALWAYS, NEVER
        for literal, asked in ((left, right), (right, left)):
            if isinstance(literal, Const) and isinstance(literal.value, bool) and isinstance(asked, Sym):
                # ``x is False`` is ``not x``, in all programs that are worth the reading
                yes, no = truth(asked)
                m.note_test(one(asked))
                return (yes, no) if literal.value else (no, yes)
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
    m.note_grounds(key, drawn_lots(symbol.made_of) if Const in (type(left), type(right)) else symbol.made_of)
    if isinstance(left, Obj) and left.kind == "instance" and isinstance(op, ast.Lt | ast.Gt | ast.Eq):
        key = Key(text, False, False)
    return fact(key, True), fact(key, False)


def _compare_devices(op: ast.cmpop, left: Atom, right: Atom) -> tuple[Path, Path]:
    """A test of how many devices there are: where only one can be meant, one rank a node is there."""

    def answer(devices: int) -> bool:
        a, b = (other.value if isinstance(other, Const) else devices for other in (left, right))
        try:
            return bool(OPERATORS[type(op)](a, b))
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


_QUESTIONS = re.compile(
    r"(?:os\.path\.(?:exists|isfile|isdir|islink)|torch\.cuda\.is_available)\(|\S*\.(?:exists|is_file|is_dir)\("
)


def _is_truth(m: Machine, atom: Atom) -> bool:
    """Whether it is true or false and nothing else: a switch of the command line, whether a file is there."""
    return isinstance(atom, Sym) and (atom.text in m.switches or _QUESTIONS.match(atom.text) is not None)


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
            then, otherwise = split(compare_values(m, ast.Eq(), one(left), value))
        yes = disjoin(yes, then)
        no = conjoin(no, otherwise)
    return yes, no
