"""Other spellings of the same expressions and assignments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .scopes import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from .sources import Sources

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE,
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def spell_otherwise(sources: Sources, random: Random) -> bool:
    """Spell one expression otherwise."""
    choices = [
        (path, tree, node, new)
        for path, tree in sources.trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        for new in _spellings(node)
    ]
    if not choices:
        return False
    path, tree, node, new = random.choice(choices)
    _Replace(node, new).visit(tree)
    sources.changed(path)
    return True


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)  # type: ignore[no-any-return]


def _spellings(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if type(op) in _FLIPPED and (_quiet(left) or _quiet(right)):
                yield ast.Compare(right, [_FLIPPED[type(op)]()], [left])
            if type(op) in _NEGATED:
                yield ast.UnaryOp(ast.Not(), ast.Compare(left, [_NEGATED[type(op)]()], [right]))
        case ast.BoolOp(op=op, values=values) if all(_says_yes_or_no(value) for value in values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield ast.UnaryOp(ast.Not(), ast.BoolOp(other, [ast.UnaryOp(ast.Not(), value) for value in values]))
        case ast.JoinedStr(values=[ast.FormattedValue(), *_] as values) if all(_plain(value) for value in values):
            text = "".join("{}" if isinstance(value, ast.FormattedValue) else value.value for value in values)  # type: ignore[attr-defined]
            given = [value.value for value in values if isinstance(value, ast.FormattedValue)]
            yield ast.Call(ast.Attribute(ast.Constant(text), "format", ast.Load()), given, [])
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            yield ast.Call(node.func, [ast.Constant(0), end], [])
        case _:
            pass


def _quiet(node: ast.expr) -> bool:
    """Whether it does not matter when an expression is evaluated."""
    return not any(
        isinstance(n, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for n in ast.walk(node)
    )


def _says_yes_or_no(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _plain(value: ast.expr) -> bool:
    """Whether a part of an f-string is formatted as ``format`` does it, and holds no braces."""
    if isinstance(value, ast.FormattedValue):
        return value.conversion == -1 and value.format_spec is None
    return isinstance(value, ast.Constant) and "{" not in value.value and "}" not in value.value


def count_otherwise(sources: Sources, random: Random) -> bool:
    """Turn ``n += 1`` into ``n = n + 1``, or back."""
    choices: list[tuple[str, list[ast.stmt], int, ast.stmt]] = []
    for path, tree in sources.trees().items():
        for block in blocks(tree):
            for at, statement in enumerate(block):
                match statement:
                    case ast.AugAssign(target=ast.Name(id=name), op=op, value=ast.Constant(value=int())):
                        value = ast.BinOp(ast.Name(name, ast.Load()), op, statement.value)
                        choices.append((path, block, at, ast.Assign([ast.Name(name, ast.Store())], value)))
                    case ast.Assign(
                        targets=[ast.Name(id=name)],
                        value=ast.BinOp(left=ast.Name(id=other), op=op, right=ast.Constant(value=int()) as value),
                    ) if name == other:
                        choices.append((path, block, at, ast.AugAssign(ast.Name(name, ast.Store()), op, value)))
                    case _:
                        pass
    if not choices:
        return False
    path, block, at, new = random.choice(choices)
    block[at] = new
    sources.changed(path)
    return True


def name_value(sources: Sources, random: Random) -> bool:
    """Give a name to what a statement returns, or to the first argument of its call."""
    choices: list[tuple[str, list[ast.stmt], int, ast.expr]] = []
    for path, tree in sources.trees().items():
        for block in blocks(tree):
            for at, statement in enumerate(block):
                match statement:
                    case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Name | ast.Constant):
                        choices.append((path, block, at, value))
                    case (
                        ast.Assign(value=ast.Call(func=func, args=[value, *_]))
                        | ast.Expr(value=ast.Call(func=func, args=[value, *_]))
                    ) if _quiet(func) and not isinstance(value, ast.Starred | ast.GeneratorExp):
                        choices.append((path, block, at, value))
                    case _:
                        pass
    if not choices:
        return False
    path, block, at, value = random.choice(choices)
    name = sources.new_name()
    _Replace(value, ast.Name(name, ast.Load())).visit(block[at])
    block.insert(at, ast.Assign([ast.Name(name, ast.Store())], value))
    sources.changed(path)
    return True
