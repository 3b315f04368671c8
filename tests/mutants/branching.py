"""Other forms of the same branches."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .scopes import Function, blocks, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from .sources import Sources

    Form = Callable[[Sources, list[ast.stmt], int], list[ast.stmt] | None]


def branch_otherwise(sources: Sources, random: Random) -> bool:
    """Write one branch in another form."""
    choices: list[tuple[str, list[ast.stmt], int, list[ast.stmt]]] = []
    for path, tree in sources.trees().items():
        for block in blocks(tree):
            for at, statement in enumerate(block):
                if not hasattr(statement, "expected"):  # of one that is told itself, the place would be lost
                    choices += [(path, block, at, new) for new in _forms(sources, statement)]
        for last, leave in _last_statements(tree):
            block, statement = last, last[-1]
            if isinstance(statement, ast.If) and not statement.orelse and not hasattr(statement, "expected"):
                new = [ast.If(_not(statement.test), [leave], []), *statement.body]
                choices.append((path, block, len(block) - 1, new))
    if not choices:
        return False
    path, block, at, new = random.choice(choices)
    block[at : at + 1] = new
    sources.changed(path)
    return True


def _forms(sources: Sources, statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    match statement:
        case ast.If(test=ast.BoolOp(op=ast.And(), values=[first, *others]), body=body, orelse=[]):
            rest = others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others)
            yield [ast.If(first, [ast.If(rest, body, [])], [])]
        case ast.If(test=test, body=[ast.If(test=other, body=body, orelse=[])], orelse=[]):
            yield [ast.If(ast.BoolOp(ast.And(), [test, other]), body, [])]
        case ast.If(test=test, body=body, orelse=[_, *_] as orelse) if not _holds_a_message(statement):
            yield [ast.If(_not(test), orelse, body)]
        case ast.With(items=[first, *others], body=body) if others:
            yield [ast.With([first], [ast.With(others, body)])]
        case ast.With(items=items, body=[ast.With(items=others, body=body)]):
            yield [ast.With([*items, *others], body)]
        case ast.Assign(targets=[target], value=ast.IfExp(test=test, body=value, orelse=other)):
            yield [ast.If(test, [ast.Assign([target], value)], [ast.Assign([_copy(target)], other)])]
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Name(id=one)], value=value)],
            orelse=[ast.Assign(targets=[ast.Name(id=other)], value=second)],
        ) if one == other:
            yield [ast.Assign([ast.Name(one, ast.Store())], ast.IfExp(test, value, second))]
        case _:
            pass
    if isinstance(statement, ast.If) and "__name__" not in read([statement.test]):
        name = sources.new_name()
        kept = ast.If(ast.Name(name, ast.Load()), statement.body, statement.orelse)
        yield [ast.Assign([ast.Name(name, ast.Store())], statement.test), kept]


def _last_statements(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """The blocks after which a round or a function is over, each with the statement that says so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield node.body, ast.Continue()
        elif isinstance(node, Function):
            yield node.body, ast.Return()


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _copy(target: ast.expr) -> ast.expr:
    return ast.parse(f"{ast.unparse(target)} = 0").body[0].targets[0]  # type: ignore[attr-defined, no-any-return]


def _holds_a_message(statement: ast.stmt) -> bool:
    """Whether a message stands in one of the arms: of two such arms, it belongs to the first in the text."""
    return any(hasattr(node, "expected") for node in ast.walk(statement))
