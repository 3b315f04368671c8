"""The event file of this process, and the numbers of the program's objects."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import weakref
from typing import Any

from ddplint.harness import guard

_LIMIT = 32 * 1024 * 1024  # bytes a process writes
_FREQUENT = {
    "batch", "forward", "inner", "sync", "backward_begun", "backward", "step", "open", "no_sync", "no_sync_end",
    "names", "collective", "collective_end", "message", "read",
}  # fmt: skip


class _Process:
    """What is known of this process, and its file."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.rank = guard.rank_asked()
        self.renew()

    def renew(self) -> None:
        """Begin a file of its own; a forked process does."""
        self.lock = threading.RLock()
        self.descriptor: int | None = None
        self.written = 0
        self.torn = False


_process = _Process()
os.register_at_fork(after_in_child=_process.renew)


def begin(folder: str) -> None:
    """Write events into ``folder`` from now on."""
    _process.folder = folder


def be_rank(rank: int) -> None:
    """This process has become ``rank``."""
    _process.rank = rank


def emit(kind: str, **fields: object) -> None:
    """Write an event of that ``kind``. One line is one write, so that what a killed process wrote is whole."""
    if _process.folder is None:
        return
    common = {
        "ev": kind,
        "t": time.monotonic(),
        "pid": os.getpid(),
        "rank": _process.rank,
        "worker": worker() is not None,
    }
    line = json.dumps({**common, **fields}, default=str).encode() + b"\n"
    with _process.lock, contextlib.suppress(OSError):
        if _process.written + len(line) > _LIMIT and kind in _FREQUENT:
            if _process.written < 2 * _LIMIT:
                _process.written = 2 * _LIMIT
                _write(json.dumps({**common, "ev": "limit"}).encode() + b"\n")
            return
        _process.written += len(line)
        _write(line)


def _write(line: bytes) -> None:
    if _process.descriptor is None:
        path = os.path.join(str(_process.folder), f"events-{os.getpid()}.jsonl")
        _process.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    if _process.torn:
        line = b"\n" + line
    _process.torn = True  # until it is known that the line is whole
    _process.torn = os.write(_process.descriptor, line) < len(line)


def worker() -> int | None:
    """The number of the loader's worker that this process is, None where it is none."""
    module: Any = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(getattr(module, "_worker_info", None), "id", None)


class Numbers:
    """Numbers objects by identity, from 0, in the order in which they are first asked for."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[int, object]] = {}
        self._next = 0

    def of(self, item: object) -> int:
        """The number of ``item``."""
        known = self.known(item)
        if known is not None:
            return known
        number, self._next = self._next, self._next + 1
        key = id(item)
        try:
            holder: object = weakref.ref(item, lambda _: self._numbers.pop(key, None))
        except TypeError:
            holder = item  # kept, so that no other object gets its identity
        self._numbers[key] = (number, holder)
        return number

    def known(self, item: object) -> int | None:
        """The number of ``item`` where it has one."""
        entry = self._numbers.get(id(item))
        if entry is None:
            return None
        number, holder = entry
        held = holder() if isinstance(holder, weakref.ref) else holder
        return number if held is item else None
