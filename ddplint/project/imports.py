"""The import statements of a file, read off its bytes without parsing.

An over-approximation: text in a string that looks like an import statement counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_WORD = b"import"
_IMPORT_ENDS = frozenset(b" \t\f\\(*\n")
_FROM = re.compile(rb"from[ \t\f]*(\.[. \t\f]*|[ \t\f])([^\s#'\"(),=]*(?:[ \t\f]*\.[ \t\f]*[^\s#'\"(),=.]+)*)[ \t\f]*")
_COMMENT = re.compile(rb"#[^\n]*")
_MAX_NAMES = 64 * 1024
"""Bytes of one parenthesised list of names that are looked at."""


class Import(NamedTuple):
    """``import module`` (``names`` is empty), or ``from <level dots>module import names``."""

    module: str
    level: int
    names: tuple[str, ...]


def import_statements(data: bytes) -> Iterator[Import]:
    """The import statements in the source text ``data``, wherever they stand in it; never raises."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\\\n" in data:
        data = data.replace(b"\\\n", b"  ")
    find, end = data.find, len(data)
    at = find(_WORD)
    while at >= 0:
        after = at + len(_WORD)
        if after < end and data[after] in _IMPORT_ENDS:
            head = data[data.rfind(b"\n", 0, at) + 1 : at]
            head = head[max(head.rfind(b";"), head.rfind(b":")) + 1 :].strip(b" \t\f\xef\xbb\xbf")
            if not head:
                yield from _plain(_line(data, after))
            elif head.startswith(b"from") and (match := _FROM.fullmatch(head)):
                dots, module = match.groups()
                yield Import(_dotted(module), dots.count(b"."), _names(data, after))
        at = find(_WORD, after)


def _plain(text: bytes) -> Iterator[Import]:
    for part in text.split(b","):
        words = part.split(b" as ", 1)
        if module := _dotted(words[0]):
            yield Import(module, 0, ())


def _names(data: bytes, start: int) -> tuple[str, ...]:
    """The names that a from-import lists from ``start``; ``*`` is none."""
    text = _line(data, start)
    if text.lstrip(b" \t\f").startswith(b"("):
        start = data.index(b"(", start) + 1
        text = _until_parenthesis(data, start)
    words = (part.split(None, 1) for part in text.split(b","))
    return tuple(word[0].decode("utf-8", "replace") for word in words if word and word[0] != b"*")


def _until_parenthesis(data: bytes, start: int) -> bytes:
    """The text from ``start`` to the closing parenthesis, without comments."""
    end = data.find(b")", start)
    text = data[start : end if end >= 0 else start + _MAX_NAMES]
    if b"#" not in text:
        return text
    # The parenthesis found may stand in a comment.
    return _COMMENT.sub(b"", data[start : start + _MAX_NAMES]).partition(b")")[0]


def _line(data: bytes, start: int) -> bytes:
    """The rest of the statement on the line, without its comment."""
    end = data.find(b"\n", start)
    text = data[start : end if end >= 0 else len(data)]
    return text.partition(b"#")[0].partition(b";")[0]


def _dotted(text: bytes) -> str:
    return b"".join(text.split()).decode("utf-8", "replace")
