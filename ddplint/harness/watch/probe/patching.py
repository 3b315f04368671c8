"""Puts a function round one of torch's, and keeps the probe's own failures out of the program."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType

_missing: list[str] = []
_left_to_python: set[CodeType] = set()
_skips: list[Callable[[CodeType], None]] = []  # torch.compile's function, once it is there
_faults: set[str] = set()
_local = threading.local()


def _no_compiler(_compiler: object) -> None:
    """What sets the compiler of this thread's frames where torch has none."""


_set_compiler: Callable[[Any], Any] = _no_compiler


def begin(torch: ModuleType) -> None:
    """``torch`` is there, to be patched."""
    global _set_compiler  # noqa: PLW0603
    frames = getattr(torch._C, "_dynamo", None)  # noqa: SLF001
    _set_compiler = getattr(getattr(frames, "eval_frame", None), "set_eval_frame", _no_compiler)


def missing() -> list[str]:
    """The names of what could not be patched."""
    return list(_missing)


def attempt(name: str, action: Callable[..., object], *arguments: object) -> None:
    """Call ``action``; where it fails, ``name`` is missing."""
    try:
        action(*arguments)
    except Exception as error:  # noqa: BLE001  # whatever torch has changed, the program must run
        _missing.append(name)
        fault(name, error)


def around(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Put ``replacement(original, *arguments)`` in the place of ``owner``'s function ``name``.

    ``owner`` is a module or a class, which keeps its identity: objects of it are pickled as before. Where ``owner`` has
    no such function, the name is missing.
    """
    original = getattr(owner, name, None)
    if original is None:
        _missing.append(f"{owner.__name__}.{name}")
        return
    torch: Any = sys.modules["torch"]
    is_compiling = torch.compiler.is_compiling

    @functools.wraps(original)
    def patched(*arguments: Any, **keywords: Any) -> Any:
        if is_compiling():  # torch.compile traces this: it must find nothing but the original
            return original(*arguments, **keywords)
        return replacement(original, *arguments, **keywords)

    leave(patched)
    leave(replacement)
    setattr(owner, name, patched)


def quiet(observer: Callable[..., Any]) -> Callable[..., Any]:
    """``observer`` as the probe's own work: it returns None where it fails, or where it is called from such work.

    What it does is neither compiled by ``torch.compile`` nor seen by the program's ``__torch_function__``.
    """
    name = f"{observer.__module__.rpartition('.')[2]}.{observer.__name__}"

    @functools.wraps(observer)
    def observe(*arguments: Any, **keywords: Any) -> Any:
        return _work(name, observer, arguments, keywords)

    return uncompiled(observe)


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, with all that it calls, out of the sight of ``torch.compile``."""

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        compiler = _set_compiler(None)  # first: what is called before may be compiled, or refused
        try:
            return function(*arguments, **keywords)
        finally:
            _set_compiler(compiler)

    leave(run)
    return run


def _work(name: str, observer: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if getattr(_local, "busy", False):
        return None
    torch: Any = sys.modules["torch"]
    _local.busy = True
    try:
        with torch._C.DisableTorchFunction():  # noqa: SLF001
            return observer(*arguments, **keywords)
    except Exception as error:  # noqa: BLE001  # nothing of the probe's reaches the program
        with contextlib.suppress(Exception):  # Python may be ending
            fault(name, error)
        return None
    finally:
        _local.busy = False


def fault(where: str, error: Exception) -> None:
    """Write down that the probe failed, once for each place."""
    if where not in _faults:
        _faults.add(where)
        writing.emit("fault", where=where, text=f"{type(error).__name__}: {error}"[:500])


def leave_to_python(dynamo: ModuleType) -> None:
    """Keep ``torch.compile``, whose module ``torch._dynamo.eval_frame`` is given, from compiling the patches."""
    for code in _left_to_python:
        dynamo.skip_code(code)
    _skips.append(dynamo.skip_code)


def leave(function: Callable[..., Any]) -> None:
    """Keep ``torch.compile`` from compiling ``function``; what it calls is compiled as before."""
    code = getattr(function, "__code__", None)
    if code is None or code in _left_to_python:
        return
    _left_to_python.add(code)
    for skip in _skips:
        skip(code)


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """Mark that this thread is inside the operation ``name``."""
    names: list[str] = _local.__dict__.setdefault("names", [])
    names.append(name)
    try:
        yield
    finally:
        names.remove(name)


def is_inside(name: str) -> bool:
    """Whether this thread is inside the operation ``name``."""
    return name in _local.__dict__.get("names", ())
