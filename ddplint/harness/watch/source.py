"""What the text of the watched program says about a line that ran."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Source:
    """Answers by parsing the files once; a file that cannot be read or parsed shows nothing."""

    def is_in_loop(self, site: str) -> bool:
        """Whether the line of a ``FILE:LINE`` stands in a loop of its own function, or of the module."""
        file, _, line = site.rpartition(":")
        return line.isdecimal() and int(line) in _looped(file)


@cache
def _looped(file: str) -> frozenset[int]:
    """The lines of ``file`` that stand in the body of a loop, functions within the loop left out."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[int] = set()
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, in_loop = stack.pop()
        if isinstance(node, _FUNCTIONS):
            in_loop = False
        if in_loop and isinstance(node, ast.stmt | ast.expr):
            found.add(node.lineno)
        body = {id(child) for child in node.body} if isinstance(node, _LOOPS) else set()
        stack.extend((child, in_loop or id(child) in body) for child in ast.iter_child_nodes(node))
    return frozenset(found)
