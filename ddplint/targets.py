"""From the paths on the command line to the files to check.

Imports next to nothing: most runs end here, before pylint is loaded.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages", "dist-packages"))
_SKIPPED_ENDINGS = (".egg", ".egg-info", ".dist-info")
_OUTPUTS = frozenset(("build", "dist", "eggs"))
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


class Target:
    """A file to check, and the path on the command line that led to it."""

    __slots__ = ("given", "path")

    def __init__(self, path: str, given: str) -> None:
        self.path = path
        self.given = given

    def paths(self) -> Iterator[str]:
        """The given path, the folders between it and the file, and the file."""
        yield self.given
        end = len(self.given)
        while (end := self.path.find(os.sep, end + 1)) != -1:
            yield self.path[:end]
        if self.path != self.given:
            yield self.path


class Search:
    """What the paths on the command line lead to.

    ``targets`` are the files that can carry a finding, ``silent`` those that cannot; ``problems`` holds a line for each
    path that cannot be read, and ``started`` is when the search began, of ``time.monotonic()``.
    """

    __slots__ = ("problems", "silent", "started", "targets")

    def __init__(self, targets: list[Target], silent: list[Target], problems: list[str], started: float) -> None:
        self.targets = targets
        self.silent = silent
        self.problems = problems
        self.started = started

    @property
    def looked_at(self) -> int:
        """The number of files."""
        return len(self.targets) + len(self.silent)


def find_targets(paths: Iterable[str]) -> Search:
    """Look for Python files at and below ``paths``."""
    started = time.monotonic()
    targets: list[Target] = []
    problems: list[str] = []
    for given in paths:
        try:
            mode = os.stat(given).st_mode
        except OSError as error:
            problems.append(f"{given}: {error.strerror}")
            continue
        except ValueError:
            problems.append(f"{given!r}: not a path")
            continue
        if stat.S_ISDIR(mode):
            before = len(targets)
            targets.extend(Target(file, given) for file in _python_files(given, problems))
            if len(targets) == before:
                problems.append(f"{given}: no Python file in this folder")
        elif stat.S_ISREG(mode):
            targets.append(Target(given, given))
        else:
            problems.append(f"{given}: not a regular file")
    readable: dict[str, Target] = {}
    for target in targets:
        if os.access(target.path, os.R_OK):
            readable.setdefault(os.path.abspath(target.path), target)
        else:
            problems.append(f"{target.path}: Permission denied")
    kept = set(_concerned(list(readable)))
    # A file that is named and is no Python is said to be none, whatever it has to do with DDP.
    kept.update(path for path, target in readable.items() if path not in kept and _is_named_and_broken(target))
    silent = [target for path, target in readable.items() if path not in kept]
    return Search([target for path, target in readable.items() if path in kept], silent, problems, started)


_LARGEST = 1 << 20
_ONLY_TREE = 0x400  # ast.PyCF_ONLY_AST, without the import


def _is_named_and_broken(target: Target) -> bool:
    if target.path != target.given:
        return False
    import warnings

    try:
        with open(target.path, "rb") as file:
            source = file.read(_LARGEST + 1)
        if len(source) > _LARGEST:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, target.path, "exec", _ONLY_TREE, dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return True
    except OSError:
        pass
    return False


def _concerned(files: list[str]) -> list[str]:
    from ddplint.project.gate import concerned

    return concerned(files)


def _python_files(folder: str, problems: list[str], *, is_given: bool = True) -> Iterator[str]:
    """The Python files below ``folder`` in sorted order, links to folders not followed.

    Hidden folders, environments, installed packages and build output are left out unless they are given.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        problems.append(f"{folder}: {error.strerror}")
        return
    if not is_given and _is_foreign(folder, {entry.name for entry in entries}):
        return
    for entry in entries:
        if entry.name.endswith(".py") and _is_file(entry, problems):
            yield os.path.join(folder, entry.name)
    for entry in entries:
        if not _is_skipped(entry.name) and entry.is_dir(follow_symlinks=False):
            yield from _python_files(os.path.join(folder, entry.name), problems, is_given=False)


def _is_file(entry: os.DirEntry[str], problems: list[str]) -> bool:
    """Whether ``entry`` is a regular file or a link to one; a link that leads nowhere is passed over."""
    try:
        return entry.is_file()
    except PermissionError as error:
        problems.append(f"{entry.path}: {error.strerror}")
    except OSError:  # a link to itself, or through a file
        pass
    return False


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED or name.endswith(_SKIPPED_ENDINGS)


def _is_foreign(folder: str, names: set[str]) -> bool:
    is_output = os.path.basename(folder) in _OUTPUTS and "__init__.py" not in names
    return is_output or any(name in names for name in _ENVIRONMENTS)
