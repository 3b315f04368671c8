"""Files that the program opens for writing, renames and removes."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from ddplint.harness import guard
from ddplint.harness.watch import events
from ddplint.harness.watch.probe import patching, sites, writing
from ddplint.harness.watch.probe.patching import quiet

if TYPE_CHECKING:
    from types import ModuleType

_WRITING = os.O_WRONLY | os.O_RDWR
_SYSTEM = ("/dev/", "/proc/", "/sys/")
_CACHES = (f"{os.sep}__pycache__{os.sep}", "torchinductor_", f"{os.sep}.triton{os.sep}", f"{os.sep}.cache{os.sep}")

_temporary: set[str] = set()  # files and folders that tempfile made for this process
_own_folders: tuple[str, ...] = ()
_began = time.time() - 1.0  # clocks of file systems tick coarsely


def observe(_torch: ModuleType) -> None:
    """Listen to what Python says of files."""
    global _own_folders  # noqa: PLW0603
    own = (os.environ.get(name) for name in (events.EVENTS, guard.FOLDER))
    _own_folders = tuple(os.path.realpath(folder) for folder in own if folder)
    patching.leave(_hear)
    sys.addaudithook(_hear)


def result(path: Any) -> str | None:
    """The real path; None where it is no file of the program's results, but a temporary one, say."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return None  # a descriptor
    name = os.path.realpath(os.fsdecode(path))
    if name.startswith((*_SYSTEM, *_own_folders)) or name.endswith((".lock", ".pyc")):
        return None
    if any(part in name for part in _CACHES):
        return None
    parent = name
    while parent != os.path.dirname(parent):
        if parent in _temporary:
            return None
        parent = os.path.dirname(parent)
    return name


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    action = _ACTIONS.get(event)
    if action is not None:
        action(*arguments)


@quiet
def _opened(path: Any, mode: str | None, flags: int) -> None:
    writes = flags & _WRITING if mode is None else set(mode) & set("wax+")
    name = result(path)
    missing = None if writes or name is None else _is_news(name)
    if name is None or (missing is None and not writes):
        return
    where, through = sites.here(), sites.through()
    if not where or "tempfile" in through:
        return
    if missing is not None:
        writing.emit("read", path=name, missing=missing, through=through, sites=where)
    else:
        if mode is None:
            mode = "a" if flags & os.O_APPEND else "w" if flags & os.O_TRUNC else "r+"
        writing.emit("open", path=name, mode=mode, through=through, sites=where)


def _is_news(name: str) -> bool | None:
    """Whether a file is not there; None for one that is older than this process."""
    try:
        return None if os.stat(name).st_mtime < _began else False
    except OSError:
        return True


@quiet
def _renamed(source: Any, path: Any, *_: object) -> None:
    name = result(path)
    where = sites.here()
    if name is not None and where:
        source = os.path.realpath(os.fsdecode(source))
        writing.emit("rename", path=name, source=source, through=sites.through(), sites=where)


@quiet
def _removed(path: Any, folder: int | None = None, *_: object) -> None:
    name = result(path) if folder in (None, -1) else None  # ``shutil.rmtree`` removes what is in a folder it has open
    where = sites.here()
    if name is not None and where:
        writing.emit("remove", path=name, through=sites.through(), sites=where)


@quiet
def _temporary_made(path: Any) -> None:
    _temporary.add(os.path.realpath(os.fsdecode(path)))


_ACTIONS = {
    "open": _opened,
    "os.rename": _renamed,
    "os.remove": _removed,
    "os.rmdir": _removed,
    "shutil.rmtree": _removed,
    "tempfile.mkstemp": _temporary_made,
    "tempfile.mkdtemp": _temporary_made,
}
