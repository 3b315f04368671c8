"""Room for recursion: generated code nests deeper than Python's default limits allow."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_RECURSION_LIMIT = 40_000
_STACK_BYTES = 512 * 1024 * 1024  # address space; only what is used becomes memory

T = TypeVar("T")


class _Here(threading.local):
    """Whether the current thread already has the room."""

    is_deep = False


_here = _Here()


def call(function: Callable[[], T]) -> T:
    """What ``function`` returns or raises, run with a deep stack.

    The recursion limit is the interpreter's own again afterwards. Where the system refuses a
    large stack, the function runs as it would have without this module.
    """
    if _here.is_deep:
        return function()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _here.is_deep = True
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the calling thread
            errors.append(error)

    limit = sys.getrecursionlimit()
    try:
        stack = threading.stack_size(_STACK_BYTES)
    except (RuntimeError, ValueError):
        return function()
    try:
        thread = threading.Thread(target=run, name="ddplint", daemon=True)
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            thread.start()
        except RuntimeError:
            sys.setrecursionlimit(limit)
            return function()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
