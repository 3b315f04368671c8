"""Swapping neighbours that do not depend on each other."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .scopes import Function, blocks, bound, looks_up_by_name, needed_now, without_docstring

if TYPE_CHECKING:
    from random import Random

    from .sources import Sources

_PURE = (
    ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Load, ast.Store,
)  # fmt: skip


def swap_neighbours(sources: Sources, random: Random) -> bool:
    """Swap two statements that follow each other, where neither sees what the other does."""
    choices = []
    for path, tree in sources.trees().items():
        if looks_up_by_name(tree):
            continue
        for block in blocks(tree):
            first = without_docstring(block)
            choices += [(path, block, at) for at in range(first, len(block) - 1) if _apart(block[at], block[at + 1])]
    if not choices:
        return False
    path, block, at = random.choice(choices)
    block[at], block[at + 1] = block[at + 1], block[at]
    sources.changed(path)
    return True


def _apart(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two statements can be run in either order."""
    if not (_harmless(one) and _harmless(other)):
        return False
    mine, theirs = bound([one]), bound([other])
    return not (mine & (theirs | needed_now(other)) or theirs & needed_now(one))


def _harmless(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but bind names."""
    match statement:
        case ast.FunctionDef():
            defaults = [*statement.args.defaults, *statement.args.kw_defaults]
            return not statement.decorator_list and all(default is None or _pure(default) for default in defaults)
        case ast.ClassDef(decorator_list=[], keywords=[]):
            return all(_harmless(member) or _docstring(member) for member in statement.body)
        case ast.Assign(targets=[ast.Name()], value=value):
            return _pure(value)
        case _:
            return False


def _docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _pure(node: ast.expr) -> bool:
    return isinstance(node, ast.Lambda) or all(isinstance(inner, _PURE) for inner in ast.walk(node))


def swap_members(sources: Sources, random: Random) -> bool:
    """Put the functions of a module, or the methods of a class, that follow each other in another order."""
    choices = []
    for path, tree in sources.trees().items():
        for block in blocks(tree):
            for start in range(len(block) - 1):
                end = start
                while end < len(block) and isinstance(block[end], Function) and _harmless(block[end]):
                    end += 1
                names = [function.name for function in block[start:end]]  # type: ignore[attr-defined]
                needed = set().union(*(needed_now(function) for function in block[start:end])) if names else set()
                if len(names) > 1 and len(set(names)) == len(names) and not needed & set(names):
                    choices.append((path, block, start, end))
    if not choices:
        return False
    path, block, start, end = random.choice(choices)
    block[start:end] = random.sample(block[start:end], end - start)
    sources.changed(path)
    return True
