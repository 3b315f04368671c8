"""Source text to syntax tree, whatever the text."""

from __future__ import annotations

import ast
import gc
import io
import re
import tokenize
import warnings

from ddplint import deep

_LINE_END = re.compile(r"\r\n|\r|\n")


def parse(source: bytes) -> ast.Module | None:
    """The tree of ``source``, its encoding declaration honoured; ``None`` if Python cannot parse it.

    The answer does not depend on how deep the caller's own stack is.
    """
    try:
        return _parse(source)
    except RecursionError:
        # Python counts the caller's frames against the nesting of the source.
        return _parse_deep(source)


def lines_of(source: bytes) -> list[bytes]:
    """The lines of ``source`` as Python counts them, in UTF-8, whose bytes are what the columns of its tree count."""
    if source.isascii() and b"\r" not in source:
        return source.split(b"\n")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return [line.encode("utf-8") for line in _LINE_END.split(source.decode(encoding))]


def _parse(source: bytes) -> ast.Module | None:
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, LookupError, MemoryError, OverflowError):
        return None
    finally:
        if enabled:
            gc.enable()


def _parse_deep(source: bytes) -> ast.Module | None:
    try:
        return deep.call(lambda: _parse(source))
    except RecursionError:
        return None
