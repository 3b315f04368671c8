"""What tells a finding from all others, whatever is written above and below it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ddplint.findings import Finding, Fingerprint, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST = 200
"""Of a longer statement the beginning counts; what comes later may be about anything."""
_SPACE = re.compile(r"\s*([()\[\]{},:;=])\s*|\s+")
_LAST_COMMA = re.compile(r",(?=[)\]}])")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Position = tuple[int, int]


def marked(findings: Iterable[Finding], path: str, lines: list[bytes], tree: ast.Module) -> list[Finding]:
    """The findings of one file, with their fingerprints and in the order given, which is that of their lines.

    ``path`` is the file's below the project's root, with forward slashes; ``lines`` is its text in UTF-8, and ``tree``
    what that was parsed to.
    """
    numbers: Counter[Fingerprint] = Counter()
    found = []
    for finding in findings:
        around = list(_around(tree, _in_bytes(finding.span, lines)))
        scope = ".".join(node.name for node in around if isinstance(node, _SCOPES))
        text = _normal(_head(around[-1], lines)) if around else ""
        first = Fingerprint(finding.symbol, path, scope, text, 1)
        numbers[first] += 1
        found.append(replace(finding, fingerprint=replace(first, number=numbers[first])))
    return found


def _in_bytes(span: Span, lines: list[bytes]) -> _Position:
    """The beginning of ``span`` as Python's trees count columns."""
    return span.line, len(lines[span.line - 1].decode("utf-8")[: span.column].encode("utf-8"))


def _around(tree: ast.AST, at: _Position) -> Iterator[ast.stmt]:
    """The statements around a position, outermost first."""
    node = next((one for one in _statements(tree) if _start(one) <= at < _end(one)), None)
    if node is not None:
        yield node
        yield from _around(node, at)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements right below ``node``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from _statements(child)


def _start(statement: ast.stmt) -> _Position:
    return statement.lineno, statement.col_offset


def _end(statement: ast.stmt) -> _Position:
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def _head(statement: ast.stmt, lines: list[bytes]) -> str:
    """The text of a statement, up to the first one in it."""
    first, last = _start(statement), min(map(_start, _statements(statement)), default=_end(statement))
    kept = lines[first[0] - 1 : last[0]]
    kept[-1] = kept[-1][: last[1]]
    kept[0] = kept[0][first[1] :]
    return b"\n".join(kept).decode("utf-8")


def _normal(text: str) -> str:
    """``text`` without comments, and without what a formatter may change in it."""
    text = _SPACE.sub(lambda match: match[1] or " ", _without_comments(text)).strip()
    return _LAST_COMMA.sub("", text)[:_LONGEST]


def _without_comments(text: str) -> str:
    if "#" not in text:
        return text
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError):  # the head of a statement is not one
        pass
    return "\n".join(lines)
