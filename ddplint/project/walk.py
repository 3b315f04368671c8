"""The Python files below a root."""

from __future__ import annotations

import os

from ddplint.project.roots import is_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILES = 20_000
"""No more Python files than these are looked at; those nearest to the root come first."""
MAX_ENTRIES = 1_000_000
"""No further folder is opened after so many folder entries (a data set below the root)."""

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages", "dist-packages"))
_SKIPPED_ENDINGS = (".egg", ".egg-info", ".dist-info")
_OUTPUTS = frozenset(("build", "dist", "eggs"))
_FOREIGN = (".git", "pyvenv.cfg", "conda-meta")


def scan(root: str) -> Iterator[tuple[str, bool]]:
    """The project's Python files below the folder ``root``, level by level, and the symbolic links met there.

    Pairs of path and "is a link". Files are regular ones named ``*.py``. Left out are hidden folders, caches, virtual
    environments, installed packages, build output (``build``, ``dist`` and ``eggs`` that are no packages), and nested
    folders with a ``.git`` of their own, which are other projects. A folder that cannot be read is empty. Below the
    user's home or the file system's root, only the files directly in it. A link is reported whatever its target and
    name, and never followed.
    """
    level = [root]
    is_flat = is_shared(root)
    files = entries = 0
    while level:
        below: list[str] = []
        for folder in level:
            listing = _listing(folder)
            entries += len(listing)
            names = {entry.name for entry in listing}
            if folder != root and (any(name in names for name in _FOREIGN) or _is_output(folder, names)):
                continue
            for entry in listing:
                if entry.is_symlink():
                    yield entry.path, True
                elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                    yield entry.path, False
                    files += 1
                    if files == MAX_FILES:
                        return
                elif not _is_skipped(entry.name) and entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
            if entries > MAX_ENTRIES:
                return
        level = [] if is_flat else below


def _listing(folder: str) -> list[os.DirEntry[str]]:
    """The entries of ``folder`` by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED or name.endswith(_SKIPPED_ENDINGS)


def _is_output(folder: str, names: set[str]) -> bool:
    return os.path.basename(folder) in _OUTPUTS and "__init__.py" not in names
