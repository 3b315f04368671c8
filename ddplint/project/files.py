"""Reading one file, and the word that shows a native wrap in it."""

from __future__ import annotations

import os

MAX_BYTES = 1 << 20
"""A larger file counts as unreadable: it is generated, and its tree would take 40 to 170 times its size in memory."""

WRAPPER = b"DistributedDataParallel"
"""In the bytes of every file that wraps a model or defines the wrapper others import under another name."""
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

# A pipe that took a file's place must not block; Windows has neither flag and needs its own.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FORMAT, _REGULAR = 0o170000, 0o100000


def read(path: str) -> bytes | None:
    """The text of the regular file at ``path``, with lines as Python parts them, each ended by a line feed.

    ``None`` where there is none, or it is unreadable or too large.
    """
    try:
        handle = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if status.st_mode & _FORMAT != _REGULAR or status.st_size > MAX_BYTES:
            return None
        return with_line_feeds(os.read(handle, status.st_size))
    except OSError:
        return None
    finally:
        os.close(handle)


def with_line_feeds(text: bytes) -> bytes:
    """``text`` with a line feed for each end of a line; Python knows three."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def shows_wrap(text: bytes) -> bool:
    """Whether the name of the wrapper stands in ``text`` as a word of its own that is no comment and not `quoted`."""
    at = text.find(WRAPPER)
    while at >= 0:
        end = at + len(WRAPPER)
        around = text[at - 1 : at] + text[end : end + 1]
        if _WORD.isdisjoint(around) and b"`" not in around and b"#" not in text[text.rfind(b"\n", 0, at) + 1 : at]:
            return True
        at = text.find(WRAPPER, end)
    return False
