"""Which names statements bind, count up or calculate anew; read off the text."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from ddplint.engine.values import Sym, Value, const, one
from ddplint.project import Module

_DEEPEST = 4
"""How many calls within one another are followed to what sets a global."""


def given_names(name: str) -> dict[str, Value]:
    """What Python itself sets in a module that is called ``name``."""
    return {"__name__": const(name), "__file__": one(Sym("__file__", opaque=False))}


def bound_names(statement: ast.stmt, known: Container[str] = ()) -> Iterator[str]:
    """The names a statement binds, or changes the value of: ``x = …``, ``x.y = …``, ``x.add(…)`` for a known ``x``."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            for alias in names:
                yield alias.asname or alias.name.split(".")[0]
        case ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _target_names(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _target_names(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute() as function)):
            base: ast.expr = function
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name) and base.id in known:
                yield base.id
        case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With():
            if isinstance(statement, ast.For):
                yield from _target_names(statement.target)
            for part in ("body", "orelse", "finalbody"):
                for inner in getattr(statement, part, ()):
                    yield from bound_names(inner, known)
            for handler in getattr(statement, "handlers", ()):
                for inner in handler.body:
                    yield from bound_names(inner, known)
        case _:
            pass


def globals_set(module: Module) -> dict[str, set[str]]:
    """For each function and method of a module that sets globals, itself or in what it calls, which ones."""
    found: dict[str, set[str]] = {}
    calls: dict[str, set[str]] = {}
    classes = [node.body for node in module.tree.body if isinstance(node, ast.ClassDef)]
    for function in (node for body in (module.tree.body, *classes) for node in body):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Global):
                    found.setdefault(function.name, set()).update(node.names)
                elif isinstance(node, ast.Call):
                    calls.setdefault(function.name, set()).add(_name_of(node))
    for _ in range(_DEEPEST):
        for name, callees in calls.items():
            for callee in callees & found.keys():
                found.setdefault(name, set()).update(found[callee])
    return found


def called(statement: ast.stmt) -> str:
    """The name of the function or method that a statement consists of a call of."""
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    return _name_of(value) if isinstance(value, ast.Call) else ""


def _name_of(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def leftmost(node: ast.expr) -> str:
    """The name a dotted expression or a call of one begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _target_names(element)
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            yield from _target_names(value)
        case _:
            pass


def counted(node: ast.AST) -> tuple[str, ...]:
    """The names that a loop's body adds to."""
    known = getattr(node, "known_counts", None)
    if known is None:
        found = set()
        stack = list(getattr(node, "body", ())) if isinstance(node, ast.For | ast.AsyncFor | ast.While) else []
        while stack:
            inner = stack.pop()
            if (name := _adds_to(inner)) is not None:
                found.add(name)
            elif not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
                stack.extend(ast.iter_child_nodes(inner))
        known = tuple(sorted(found))
        node.known_counts = known  # type: ignore[attr-defined]
    return known


def calculated(node: ast.AST) -> tuple[str, ...]:
    """The attributes of its first parameter that a function sets to something else than a literal."""
    known = getattr(node, "known_calculated", None)
    if known is None:
        found = set()
        parameters = node.args.args if isinstance(node, ast.FunctionDef) else []
        for inner in ast.walk(node) if parameters else ():
            if isinstance(inner, ast.Assign | ast.AugAssign) and not isinstance(inner.value, ast.Constant):
                for target in inner.targets if isinstance(inner, ast.Assign) else [inner.target]:
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                        if target.value.id == parameters[0].arg:
                            found.add(target.attr)
        known = tuple(sorted(found))
        node.known_calculated = known  # type: ignore[attr-defined]
    return known


def _adds_to(statement: ast.AST) -> str | None:
    """The name that ``x += 1`` or ``x = x + 1`` adds to."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=ast.Constant() | ast.Name()):
            return name
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=other), op=ast.Add() | ast.Sub(), right=ast.Constant() | ast.Name()),
        ) if name == other:
            return name
        case _:
            return None


_FILLING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})


def gives_nothing_at_times(function: ast.AST) -> bool:
    """Whether a function returns None at one place and something else at another."""
    given = set()
    stack = list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            given.add(node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return len(given) == 2


def filled_names(function: ast.AST) -> set[str]:
    """The names of containers around a function into which it puts something."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _FILLING:
                found.add(name)
    return found
