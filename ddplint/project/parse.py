"""Source text to syntax tree, whatever the text."""

from __future__ import annotations

import ast
import gc
import warnings

from ddplint import deep


def parse(source: bytes) -> ast.Module | None:
    """The tree of ``source``, its encoding declaration honoured; ``None`` if Python cannot parse it.

    The answer does not depend on how deep the caller's own stack is.
    """
    try:
        return _parse(source)
    except RecursionError:
        # Python counts the caller's frames against the nesting of the source.
        return _parse_deep(source)


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
