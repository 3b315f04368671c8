"""The texts of files: read each time they are asked for, or kept until they change."""

from __future__ import annotations

import hashlib
import os
import time
from typing import NamedTuple

from ddplint.project.files import MAX_BYTES, read, with_line_feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_KEPT = 64 << 20
"""Of more bytes than these, only what tells whether they changed is kept."""
_UNSETTLED = 2_000_000_000
"""A file written so few nanoseconds ago may be written again within one tick of the file system's clock."""

_Stamp = tuple[int, int, int, int]


class Texts:
    """The texts of files, on disk or given in their place."""

    def __init__(self, unsaved: Mapping[str, bytes] | None = None) -> None:
        """``unsaved`` maps absolute paths to the text that replaces the file's."""
        self.unsaved = _by_real_path(unsaved or {})

    def get(self, path: str) -> bytes | None:
        """The text of the file at ``path``; ``None`` if it is unreadable or too large."""
        if path in self.unsaved:
            text = self.unsaved[path]
            return text if len(text) <= MAX_BYTES else None
        return read(path)


class _Known(NamedTuple):
    """What was found at a path. ``stamp``: unless it is None, the text is the same as long as the file has it."""

    stamp: _Stamp | None
    digest: bytes | None
    text: bytes | None
    is_kept: bool


class KeptTexts(Texts):
    """The texts of files as they stood at one moment, from which ``renew`` goes on to the present one."""

    def __init__(self, unsaved: Mapping[str, bytes] | None = None) -> None:
        super().__init__(unsaved)
        self._known: dict[str, _Known] = {}
        self._size = 0

    def get(self, path: str) -> bytes | None:
        """As ``Texts.get``; the file is not read again before ``renew``."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._look(path)
        return known.text if known.is_kept else super().get(path)

    def renew(self, unsaved: Mapping[str, bytes]) -> set[str]:
        """Take the files as they stand now, with ``unsaved`` in place of some.

        Returns those that were asked for and whose text is another one.
        """
        replaced = {*self.unsaved, *(unsaved := _by_real_path(unsaved))}
        self.unsaved = unsaved
        changed = set()
        for path, known in self._known.items():
            if path not in replaced and known.stamp is not None and known.stamp == _stamp(path):
                continue
            self._size -= len(known.text or b"")
            now = self._known[path] = self._look(path)
            if now.digest != known.digest:
                changed.add(path)
        return changed

    def _look(self, path: str) -> _Known:
        # The stamp before the text: if the file is written in between, the stamp is an old one.
        stamp = None if path in self.unsaved else _settled_stamp(path)
        text = super().get(path)
        if text is None:
            return _Known(stamp, None, None, is_kept=True)
        digest = hashlib.blake2b(text, digest_size=16).digest()
        if self._size + len(text) > _MOST_KEPT:
            return _Known(stamp, digest, None, is_kept=False)
        self._size += len(text)
        return _Known(stamp, digest, text, is_kept=True)


def _by_real_path(unsaved: Mapping[str, bytes]) -> dict[str, bytes]:
    return {os.path.realpath(path): with_line_feeds(text) for path, text in unsaved.items()}


def _settled_stamp(path: str) -> _Stamp | None:
    stamp = _stamp(path)
    if stamp is None or max(stamp[:2]) > time.time_ns() - _UNSETTLED:
        return None
    return stamp


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
