"""The import statements of a file, read off its bytes without parsing.

An over-approximation: text in a string that looks like an import statement counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ddplint.project.files import with_line_feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_MAX_LISTED = 2000
"""No more lines of one parenthesised list of names are looked at."""
_MAX_JOINED = 20
"""No more lines joined by backslashes are looked at."""

_INLINE = re.compile(rb"[:;][ \t\f]*((?:import|from)\b[^;]*)")
_WORD = re.compile(rb"\bimport\b")
_CONTINUED = re.compile(rb"\\\n")
_COMMENT = re.compile(rb"#[^\n]*")
_BLANKS = b" \t\f\xef\xbb\xbf"
_BACKSLASH = ord("\\")


class Import(NamedTuple):
    """``import module`` (``names`` is empty), or ``from <level dots>module import names``."""

    module: str
    level: int
    names: tuple[str, ...]


class ImportReader:
    """Reads the import statements of many files; what a line means is found out once."""

    def __init__(self, first_names: Container[str]) -> None:
        """Absolute imports whose first component is not among ``first_names`` are left out."""
        self._first_names = first_names
        self._lines: dict[bytes, tuple[Import, ...]] = {}

    def statements(self, data: bytes) -> set[Import]:
        """The import statements in the source text ``data``, wherever they stand in it; never raises."""
        data = with_line_feeds(data)
        found: set[Import] = set()
        known, find, rfind, size = self._lines, data.find, data.rfind, len(data)
        at = find(b"import")
        while at >= 0:
            start = rfind(b"\n", 0, at) + 1
            end = find(b"\n", at)
            if end < 0:
                end = size
            line = data[start:end]
            if line in known and (start < 2 or data[start - 2] != _BACKSLASH):
                found.update(known[line])
            elif _WORD.search(line):
                statement = _logical_line(data, start, end)
                imports = self._read(statement)
                found.update(imports)
                if statement == line:
                    known[line] = imports
            at = find(b"import", end)
        return found

    def _read(self, text: bytes) -> tuple[Import, ...]:
        """The imports in one logical line."""
        text = _CONTINUED.sub(b" ", _COMMENT.sub(b"", text)).strip(_BLANKS + b"\n")
        statements: list[bytes] = _INLINE.findall(text)
        if text.startswith((b"import", b"from")):
            statements.append(text.partition(b";")[0])
        return tuple(found for statement in statements for found in self._statement(statement))

    def _statement(self, text: bytes) -> list[Import]:
        """The imports in ``text``, which begins like an import statement."""
        word = _WORD.search(text)
        if word is None:
            return []
        listed = [_dotted(part.strip(b"() \t\f\n").partition(b" ")[0]) for part in text[word.end() :].split(b",")]
        if word.start() == 0:
            return [Import(module, 0, ()) for module in listed if self._is_known(module)]
        dotted = _dotted(text[len(b"from") : word.start()])
        module = dotted.lstrip(".")
        level = len(dotted) - len(module)
        if level or self._is_known(module):
            return [Import(module, level, tuple(name for name in listed if name not in ("", "*")))]
        return []

    def _is_known(self, module: str) -> bool:
        return module.partition(".")[0] in self._first_names


def _logical_line(data: bytes, start: int, end: int) -> bytes:
    """The statement of which the line from ``start`` to ``end`` is part: backslashes and parentheses join lines."""
    for _ in range(_MAX_JOINED):
        if start < 2 or data[start - 2] != _BACKSLASH:
            break
        start = data.rfind(b"\n", 0, start - 1) + 1
    at, joined, depth = start, 0, 0
    is_import = _begins_import(data[start:end])
    for _ in range(_MAX_LISTED):
        line = data[at:end].partition(b"#")[0]
        depth += line.count(b"(") - line.count(b")")
        joined += line.endswith(b"\\")
        # Only an import's parenthesis is followed, and not into another import: elsewhere it may never close.
        is_listing = depth > 0 and is_import and (at == start or not _begins_import(line))
        if end == len(data) or joined > _MAX_JOINED or not (is_listing or line.endswith(b"\\")):
            break
        at = end + 1
        end = data.find(b"\n", at)
        if end < 0:
            end = len(data)
    return data[start:end]


def _begins_import(line: bytes) -> bool:
    return line.lstrip(_BLANKS).startswith((b"from ", b"import "))


def _dotted(text: bytes) -> str:
    """``text`` without blanks."""
    return b"".join(text.split()).decode("utf-8", "replace")
