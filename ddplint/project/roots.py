"""The folder that is the project of a file."""

from __future__ import annotations

import os

_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")


def find_root(path: str) -> str:
    """The real path of the folder that is the project of the file at ``path`` (which need not exist).

    The nearest folder above it that holds ``.git``; else the outermost that holds packaging metadata; else the folder
    from which the file's package is imported, which for a file outside a package is its own. The user's home and the
    file system's root are nobody's project, whatever they hold, unless the file lies in them directly.
    """
    return RootFinder().find(os.path.dirname(os.path.realpath(path)))


def is_shared(folder: str) -> bool:
    """Whether ``folder`` is the file system's root or the user's home: too much lies below it to be one project."""
    return os.path.dirname(folder) == folder or folder == _home()


class RootFinder:
    """Finds the roots of many folders; what a folder holds is looked up once."""

    def __init__(self) -> None:
        self._home = _home()
        self._with_git: dict[str, bool] = {}
        self._with_packaging: dict[str, bool] = {}

    def find(self, folder: str) -> str:
        """The root of the files in ``folder``, a real path; see ``find_root``."""
        candidates = self._candidates(folder)
        for candidate in candidates:
            if self._has_git(candidate):
                return candidate
        for candidate in reversed(candidates):
            if self._has_packaging(candidate):
                return candidate
        for candidate in candidates:
            if not os.path.isfile(os.path.join(candidate, "__init__.py")):
                return candidate
        return candidates[-1] if candidates else folder

    def _candidates(self, folder: str) -> list[str]:
        """``folder`` and the folders above it, nearest first, that may be a root."""
        found = []
        while folder != self._home and (parent := os.path.dirname(folder)) != folder:
            found.append(folder)
            folder = parent
        return found

    def _has_git(self, folder: str) -> bool:
        if folder not in self._with_git:
            self._with_git[folder] = os.path.exists(os.path.join(folder, ".git"))
        return self._with_git[folder]

    def _has_packaging(self, folder: str) -> bool:
        if folder not in self._with_packaging:
            self._with_packaging[folder] = any(os.path.isfile(os.path.join(folder, name)) for name in _PACKAGING)
        return self._with_packaging[folder]


def _home() -> str:
    return os.path.realpath(os.path.expanduser("~"))
