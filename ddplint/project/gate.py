"""Which files can carry a finding at all; a byte search, answered before anything heavy is imported."""

from __future__ import annotations

import os

from ddplint.project.files import read, shows_wrap
from ddplint.project.roots import RootFinder
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
        self._finder = RootFinder()
        self._folders: dict[str, tuple[str, str]] = {}
        self._with_wrap: set[str] = set()
        self._without_wrap: dict[str, set[str]] = {}

    def lets_through(self, file: str) -> bool:
        """Whether ``file`` can carry a finding."""
        path, root = self._place(file)
        if root in self._with_wrap:
            return True
        if path in self._without_wrap.get(root, ()):
            return False
        # The file's own text before the project's: it often is the one that wraps.
        if _shows_wrap(path):
            return True
        if root not in self._without_wrap:
            self._search(root)
        return root in self._with_wrap

    def _search(self, root: str) -> None:
        """Look for a wrap in the project at ``root``."""
        seen: set[str] = set()
        for path, is_link in scan(root):
            if not is_link:
                if _shows_wrap(path):
                    self._with_wrap.add(root)
                    return
                seen.add(path)
        self._without_wrap[root] = seen

    def _place(self, file: str) -> tuple[str, str]:
        """The real path of ``file``, and its root."""
        if os.path.islink(file):
            file = os.path.realpath(file)
        folder, separator, name = file.rpartition(os.sep)
        if folder not in self._folders:
            real = os.path.realpath(folder + separator)
            self._folders[folder] = real, self._finder.find(real)
        real, root = self._folders[folder]
        return os.path.join(real, name), root


def _shows_wrap(path: str) -> bool:
    data = read(path)
    return data is not None and shows_wrap(data)
