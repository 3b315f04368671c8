"""Which files can carry a finding at all? Answered by a byte search, before anything heavy is imported."""

from __future__ import annotations

import os

from ddplint.project.files import WRAP, read
from ddplint.project.roots import find_root
from ddplint.project.walk import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def concerned(files: Iterable[str]) -> list[str]:
    """Those of ``files`` that can carry a finding, in their order: their project holds a file with a native wrap.

    A file that is no part of its project's tree (in a hidden folder, say) has to show the wrap itself.
    """
    gate = _Gate()
    return [file for file in files if gate.lets_through(file)]


class _Gate:
    """What one call of ``concerned`` has learned about folders and projects."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[str, str]] = {}
        self._without_wrap: set[str] = set()
        self._with_wrap: set[str] = set()

    def lets_through(self, file: str) -> bool:
        real, root = self._place(file)
        if root in self._with_wrap:
            return True
        # The file's own text first: it often is the one that wraps, and reading the project is spared.
        if _shows_wrap(real):
            return True
        if root in self._without_wrap:
            return False
        if any(_shows_wrap(path) for path, is_link in scan(root) if not is_link):
            self._with_wrap.add(root)
            return True
        self._without_wrap.add(root)
        return False

    def _place(self, file: str) -> tuple[str, str]:
        """The real path of ``file``, and its root."""
        if os.path.islink(file):
            file = os.path.realpath(file)
        folder, name = os.path.split(file)
        if folder not in self._folders:
            real = os.path.realpath(folder)
            self._folders[folder] = real, find_root(os.path.join(real, name))
        real, root = self._folders[folder]
        return os.path.join(real, name), root


def _shows_wrap(path: str) -> bool:
    data = read(path)
    return data is not None and WRAP in data
