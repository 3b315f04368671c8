"""What the text of the watched program says about a line that ran."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class _Setting:
    """Where a line stands in its own function, or in the module."""

    parameters: frozenset[str] = frozenset()
    in_loop: bool = False
    is_told: bool = False


class Source:
    """Answers by parsing the files once; a file that cannot be read or parsed shows nothing."""

    def is_in_loop(self, site: str) -> bool:
        """Whether the line of a ``FILE:LINE`` stands in a loop of its own function, or of the module."""
        return self._setting(site).in_loop

    def is_told(self, site: str) -> bool:
        """Whether the line stands under a test of nothing but a parameter of its function: its caller decides."""
        return self._setting(site).is_told

    def _setting(self, site: str) -> _Setting:
        file, _, line = site.rpartition(":")
        return _settings(file).get(int(line), _Setting()) if line.isdecimal() else _Setting()


@cache
def _settings(file: str) -> dict[int, _Setting]:
    """How each line of ``file`` on which a statement or expression begins stands."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[int, _Setting] = {}
    stack: list[tuple[ast.AST, _Setting]] = [(tree, _Setting())]
    while stack:
        node, setting = stack.pop()
        if isinstance(node, ast.stmt | ast.expr):
            found[node.lineno] = setting
        for child in ast.iter_child_nodes(node):
            stack.append((child, _within(node, child, setting)))
    return found


def _within(node: ast.AST, child: ast.AST, setting: _Setting) -> _Setting:
    """How ``child`` of ``node`` stands, which itself stands as ``setting``."""
    if isinstance(node, _FUNCTIONS):
        named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return _Setting(frozenset(argument.arg for argument in named))
    if isinstance(node, _LOOPS) and child in node.body:
        return replace(setting, in_loop=True, is_told=False)
    if isinstance(node, ast.If) and child is not node.test:
        return replace(setting, is_told=_is_parameter(node.test, setting.parameters))
    return setting


def _is_parameter(test: ast.expr, parameters: frozenset[str]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(test, ast.Name) and test.id in parameters
