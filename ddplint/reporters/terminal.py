"""``--output-format=terminal``, for a person: each finding with its source, and the other places it names."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
import tokenize
import unicodedata
from typing import TYPE_CHECKING, TextIO

from ddplint.evidence import finding_of
from ddplint.findings import Span
from ddplint.reporters.base import WholeReporter, shown
from ddplint.screen import is_terminal, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pylint.message import Message

_BOLD, _DIM, _RED, _BLUE = "1", "2", "1;31", "1;34"
_WIDEST = 100
_TAB = 4
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""What a terminal would obey, or that would show the rest of the line in another order."""


class TerminalReporter(WholeReporter):
    """Writes findings for a person: the line with its token underlined, the message, the other places."""

    name = "terminal"
    extension = "txt"

    def __init__(self, output: TextIO | None = None) -> None:
        super().__init__(output)
        self._started = time.monotonic()
        self._sources: dict[str, list[str]] = {}
        # The command collects what is printed before it is written to the terminal.
        draws = is_terminal(sys.__stdout__ if output is None else output)
        self._colours = draws and not os.environ.get("NO_COLOR")
        self._width = min(shutil.get_terminal_size().columns, _WIDEST) if draws else _WIDEST

    def text(self) -> str:
        """All findings and the summary."""
        paragraphs = ["\n".join(self._paragraph(message)) for message in self.messages]
        search = getattr(self.linter, "search", None)
        files = search.looked_at if search is not None else len({message.path for message in self.messages})
        started = search.started if search is not None else self._started
        last = summary(len(self.messages), files, time.monotonic() - started)
        return "\n\n".join([*paragraphs, self._in(_BOLD, last)])

    def _paragraph(self, message: Message) -> Iterator[str]:
        finding = finding_of(message)
        path = message.abspath or message.path
        place = f"{_printable(shown(path))}:{message.line}:{message.column}"
        yield f"{self._in(_BOLD, place)}: {message.msg_id} {self._in(_BOLD, message.symbol)}"
        end = message.end_line or message.line, message.end_column or message.column + 1
        related = finding.related if finding is not None else ()
        margin = len(str(max([message.line, *(other.span.line for other in related)])))
        yield from self._quoted(path, Span(message.line, message.column, *end), margin, _RED, "")
        yield from textwrap.wrap(
            _printable(message.msg),
            self._width,
            initial_indent=" " * (margin + 3),
            subsequent_indent=" " * (margin + 3),
            break_long_words=False,
            break_on_hyphens=False,
        )
        before = path
        for other in related:
            if other.path != before:
                there = f"{_printable(shown(other.path))}:{other.span.line}"
                yield f"{' ' * (margin + 1)}{self._in(_BOLD, there)}"
                before = other.path
            yield from self._quoted(other.path, other.span, margin, _BLUE, other.text)

    def _quoted(self, path: str, span: Span, margin: int, colour: str, text: str) -> Iterator[str]:
        """The line of ``span`` and, below it, marks under the part of it that ``span`` covers."""
        lines = self._lines(path)
        if not 0 < span.line <= len(lines):
            return
        line = lines[span.line - 1]
        end = span.end_column if span.end_line == span.line else len(line.rstrip())
        code, start, width = _window(line, span.column, max(end, span.column + 1), self._width - margin - 3)
        marks = self._in(colour, f"{'^' * width}{' ' if text else ''}{text}")
        yield f"{self._in(_DIM, f'{span.line:>{margin}} |')} {code}".rstrip()
        yield f"{self._in(_DIM, ' ' * margin + ' |')} {' ' * start}{marks}"

    def _lines(self, path: str) -> list[str]:
        if path not in self._sources:
            unsaved = getattr(self.linter, "unsaved", {}).get(path)
            self._sources[path] = _split(_read(path) if unsaved is None else unsaved)
        return self._sources[path]

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours else text


def _read(path: str) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError):
        return ""


def _split(text: str) -> list[str]:
    """The lines of ``text`` as Python counts them."""
    return re.split(r"\r\n|\r|\n", text)


def _window(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """``line`` as it can be shown in ``room`` cells, and where in it, in cells, its part from ``start`` to ``end`` is.

    A line that is too long is cut around that part.
    """
    before, part, after = (_printable(text) for text in (line[:start], line[start:end], line[end:]))
    indent = _cells(before)
    if indent + _cells(part) + _cells(after) > room:
        keep = max(room - _cells(part), 20)
        if indent > keep // 2:
            before = f"... {before[-(keep // 2) :]}"
        after = after[: max(room - _cells(before) - _cells(part) - 4, 0)] + " ..."
        part = part[:room]
    return before + part + after, _cells(before), max(_cells(part), 1)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " " * _TAB).replace("\f", ""))


def _cells(text: str) -> int:
    """The columns that ``text`` takes on a terminal."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
