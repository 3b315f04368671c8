"""Where in the program's code something happened."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep  # the code of the probe
_DEPTH = 16  # frames kept of a stack
_HARNESS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_start = ""  # file names of code are relative to it, where they are relative
with contextlib.suppress(OSError):  # it is gone
    _start = os.getcwd()
_left_out = [
    *{sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("platstdlib") + os.sep},
    os.path.join(_HARNESS, "watch") + os.sep,
    os.path.join(_HARNESS, "site") + os.sep,
    os.path.join(_HARNESS, "guard.py"),
]
_files: dict[str, str | None] = {}  # the program's file for a code's file name; None for all others


def leave_out(folder: str) -> None:
    """Count what lies in ``folder`` as installed."""
    _left_out.append(folder + os.sep)


def here(made: object = None, *, outside_managers: bool = False) -> list[str]:
    """The program's frames of this thread's stack as ``FILE:LINE``, innermost first.

    Where an object was ``made``, the innermost frames that are its own methods are left out: the first one then is the
    call that makes the object, and not the ``super().__init__()`` of its class. ``outside_managers`` leaves out the
    innermost frames that enter a context manager of the program's.
    """
    found: list[str] = []
    for frame, file in _program_frames(sys._getframe(1)):  # noqa: SLF001
        if not found and made is not None and _is_method_of(frame, made):
            continue
        if not found and outside_managers and _enters(frame):
            continue
        found.append(f"{file}:{frame.f_lineno}")
        if len(found) == _DEPTH:
            break
    return found


def _enters(frame: FrameType) -> bool:
    """Whether a frame is what a context manager does when it is entered."""
    caller = frame.f_back
    if caller is not None and caller.f_globals.get("__name__") == "contextlib":
        frame = caller
    return frame.f_code.co_name == "__enter__"


def through() -> list[str]:
    """The packages between the innermost frame of the program and this call, the outermost of them first."""
    packages: list[str] = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and _program_file(frame) is None:
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if name and not frame.f_code.co_filename.startswith(_HARNESS) and name not in packages:
            packages.insert(0, name)
        frame = frame.f_back
    return packages


def _program_frames(frame: FrameType | None) -> Iterator[tuple[FrameType, str]]:
    while frame is not None:
        file = _program_file(frame)
        if file is not None:
            yield frame, file
        frame = frame.f_back


def _program_file(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    if name not in _files:
        _files[name] = _judged(name)
    return _files[name]


def _judged(name: str) -> str | None:
    if name.startswith("<"):
        return None
    path = os.path.normpath(os.path.join(_start, name))
    if path.startswith(_HARNESS) and not path.startswith(tuple(_left_out)):
        return path  # the reference trainer, wherever this package is installed
    installed = any(part in path for part in _INSTALLED) or path.startswith(tuple(_left_out))
    return None if installed else path


def _is_method_of(frame: FrameType, made: object) -> bool:
    code = frame.f_code
    takes_it = code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is made
    return takes_it and hasattr(type(made), code.co_name)  # else it is a function that is given the object


def is_inside_method_of(item: object) -> bool:
    """Whether a method of ``item``'s own in the program's code is being run."""
    frame = next((frame for frame, _ in _program_frames(sys._getframe(1))), None)  # noqa: SLF001
    return frame is not None and _is_method_of(frame, item)


def is_next() -> bool:
    """Whether the program itself, and no package, made the call that is being observed."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame is not None and _program_file(frame) is not None


def of_traceback(trace: TracebackType | None) -> list[str]:
    """The program's frames of a ``trace``, innermost first."""
    found: list[str] = []
    while trace is not None:
        file = _program_file(trace.tb_frame)
        if file is not None:
            found.insert(0, f"{file}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found[:_DEPTH]
