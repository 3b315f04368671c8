"""Who binds and reads which name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_BY_NAME = {"locals", "vars", "globals", "eval", "exec", "dir", "__import__", "import_module", "setattr", "getattr"}


def looks_up_by_name(tree: ast.AST) -> bool:
    """Whether names may be used that do not stand in the text as names."""
    return any(isinstance(node, ast.Name) and node.id in _BY_NAME for node in ast.walk(tree)) or any(
        isinstance(node, ast.Attribute) and node.attr in ("import_module", "__dict__") for node in ast.walk(tree)
    )


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes, and those in them, that are not inside of a function, lambda or class that stands there."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Function | ast.ClassDef):
            stack += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)


def inner(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The functions, lambdas and classes that stand directly in ``nodes``."""
    return [node for node in own(nodes) if isinstance(node, INNER)]


def arguments(function: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters."""
    spec = function.args
    found = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return found + [star for star in (spec.vararg, spec.kwarg) if star is not None]


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their own scope."""
    found: set[str] = set()
    for node in own(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import() | ast.ImportFrom():
                found.update(alias.asname or alias.name.split(".")[0] for alias in node.names if alias.name != "*")
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
            case _:
                pass
    return found


def read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are read anywhere in ``nodes``, in inner functions as well."""
    found: set[str] = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                found.update(node.names)
    return found


def needed_now(statement: ast.stmt) -> set[str]:
    """The names that a statement needs when it runs, and not only when somebody calls what it defines."""
    match statement:
        case ast.FunctionDef(args=spec) | ast.AsyncFunctionDef(args=spec):
            annotations = [argument.annotation for argument in arguments(statement)]
            now = [*spec.defaults, *spec.kw_defaults, *annotations, statement.returns, *statement.decorator_list]
            return read(node for node in now if node is not None)
        case ast.ClassDef(bases=bases, body=body, decorator_list=decorators, keywords=keywords):
            return read([*bases, *decorators, *keywords]).union(*(needed_now(member) for member in body))
        case _:
            return read([statement])


def surely_bound(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that are bound whenever all statements have run."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Assign(targets=targets):
                found.update(bound(targets))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                found.add(name)
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                found.update(bound([statement]))
            case ast.With(items=items, body=body):
                for item in items:
                    found.update(bound([item.optional_vars] if item.optional_vars else []))
                found.update(surely_bound(body))
            case ast.If(body=body, orelse=orelse) if orelse:
                found.update(surely_bound(body) & surely_bound(orelse))
            case _:
                pass
    return found


def functions(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """The module's functions and the methods of its classes, each with its class."""
    for statement in tree.body:
        if isinstance(statement, Function):
            yield statement, None
        elif isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, Function):
                    yield member, statement


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
                yield found


def without_docstring(body: list[ast.stmt]) -> int:
    """The place of the first statement that is neither the docstring nor an import from ``__future__``."""
    at = int(bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))
    while at < len(body) and isinstance(body[at], ast.ImportFrom) and body[at].module == "__future__":  # type: ignore[attr-defined]
        at += 1
    return at
