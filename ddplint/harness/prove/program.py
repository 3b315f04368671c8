"""A program that is proved, as text: what it marks, what the linter says of it, where it differs from another."""

from __future__ import annotations

import ast
import contextlib
import re
import textwrap
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ddplint import deep
from ddplint.analysis import Analysis
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Place = tuple[int, str]  # a line and the symbol of a rule

_MARK = re.compile(r"\s*# \[(ddp-[a-z-]+)\]$")


@dataclass(frozen=True)
class Program:
    """A program at ``path``, alone in a repository of its own."""

    path: Path

    @property
    def marks(self) -> list[Place]:
        """The places at which comments such as ``# [ddp-unguarded-save]`` announce a finding."""
        matches = ((number, _MARK.search(line)) for number, line in enumerate(self._text(), 1))
        return [(number, match[1]) for number, match in matches if match is not None]

    def findings(self) -> list[Place]:
        """The places at which the linter reports something."""
        found = deep.call(lambda: Analysis().findings(str(self.path), list(BY_SYMBOL)))
        return sorted((finding.span.line, finding.symbol) for finding in found)

    def lines_to_show(self, other: Program, *also: int) -> dict[int, str]:
        """By number, the lines of code that are marked or that ``other`` has not, and ``also`` those, without marks.

        What is marked and only jumps is shown with its test.
        """
        lines = self._lines()
        marked = {number for number, _ in self.marks}
        numbers = sorted(marked.union(self._tests_of_jumps(marked), self._lines_not_in(other), also))
        text = textwrap.dedent("\n".join(lines[number - 1] for number in numbers))
        return dict(zip(numbers, text.split("\n"), strict=False))

    def _tests_of_jumps(self, numbers: set[int]) -> Iterator[int]:
        """The lines of the tests that alone decide on a jump in one of the lines ``numbers``."""
        for node in ast.walk(self._tree()):
            if isinstance(node, ast.If) and isinstance(node.body[0], ast.Break | ast.Continue | ast.Return):
                if node.body[0].lineno in numbers:
                    yield node.lineno

    def _lines_not_in(self, other: Program) -> Iterator[int]:
        old, new = other._code(), self._code()
        for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind in ("replace", "insert"):
                yield from (number + 1 for number in range(start, end) if new[number])

    def _lines(self) -> list[str]:
        """The program's lines, without marks."""
        return [_MARK.sub("", line) for line in self._text()]

    def _text(self) -> list[str]:
        return self.path.read_text(encoding="utf-8", errors="replace").split("\n")

    def _code(self) -> list[str]:
        """The lines, those empty that belong to the module's docstring or imports, or to comments."""
        lines = [line.partition("  # ")[0].strip() for line in self._lines()]
        lines = ["" if line.startswith("#") else line for line in lines]
        for node in self._tree().body:
            if isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
                for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[number] = ""
        return lines

    def _tree(self) -> ast.Module:
        """The program's tree; an empty one where it is no Python, which is met again when the program is run."""
        with contextlib.suppress(SyntaxError):
            return ast.parse("\n".join(self._lines()))
        return ast.Module(body=[], type_ignores=[])
