"""Which folder is the project of a file?"""

from __future__ import annotations

import os

_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")


def find_root(path: str) -> str:
    """The real path of the folder that is the project of the file at ``path`` (which need not exist).

    The nearest folder above it that holds ``.git``; else the outermost that holds packaging metadata; else the folder
    from which the file's package is imported, which for a file outside a package is its own. The user's home and the
    file system's root are nobody's project, whatever they hold, unless the file lies in them directly.
    """
    folder = os.path.dirname(os.path.realpath(path))
    candidates = _candidates(folder)
    for candidate in candidates:
        if os.path.exists(os.path.join(candidate, ".git")):
            return candidate
    for candidate in reversed(candidates):
        if any(os.path.isfile(os.path.join(candidate, name)) for name in _PACKAGING):
            return candidate
    for candidate in candidates:
        if not os.path.isfile(os.path.join(candidate, "__init__.py")):
            return candidate
    return candidates[-1] if candidates else folder


def is_shared(folder: str) -> bool:
    """Whether ``folder`` is the file system's root or the user's home: too much lies below it to be one project."""
    return os.path.dirname(folder) == folder or folder == os.path.realpath(os.path.expanduser("~"))


def _candidates(folder: str) -> list[str]:
    """``folder`` and the folders above it, nearest first, that may be a root."""
    found = []
    while not is_shared(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found
