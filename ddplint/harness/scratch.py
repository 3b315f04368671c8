"""Temporary folders of the harness, which are removed even where this process is killed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness import guard, keeper

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder that is removed when this is left.

    Should this process be killed before, a keeper ends the programs that were launched with the folder, or with one in
    it, and removes it.
    """
    made = tempfile.TemporaryDirectory(prefix="ddplint-")
    command = [sys.executable, "-I", "-S", keeper.__file__, guard.FOLDER, made.name]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdin is not None
            try:
                yield Path(made.name)
            finally:
                with undisturbed(), contextlib.suppress(OSError):  # somebody has killed it
                    process.stdin.write(keeper.LEFT)
                    process.stdin.flush()
    finally:
        with undisturbed():
            made.cleanup()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore what would interrupt, such as a second Ctrl-C while the program is ended after the first."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    is_main = threading.current_thread() is threading.main_thread()  # the only one that may ask for it
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
