"""What a person at a terminal gets besides the findings: a summary, and the progress of a long run.

Imports next to nothing: it is used where pylint is not loaded.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_PATIENCE = 1.0  # seconds without a sign of life
_PAUSE = 0.1  # seconds between two


def is_terminal(stream: TextIO | None) -> bool:
    """Whether what is written to ``stream`` appears on a terminal that can draw."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def summary(findings: int, files: int, seconds: float) -> str:
    """A line on a whole run: its ``findings``, the ``files`` it looked at, and its time."""
    found = f"{findings} finding{'' if findings == 1 else 's'}" if findings else "No findings"
    return f"{found} in {files} file{'' if files == 1 else 's'} ({seconds:.1f} s)"


class Progress:
    """A line on the error stream that counts files, from the first second on and where it is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._due = time.monotonic() + _PATIENCE if is_terminal(sys.stderr) else float("inf")
        self._shown = False

    def advance(self) -> None:
        """Count a file."""
        self._done += 1
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _PAUSE
            self._shown = True
            print(f"\r\x1b[K{self._done} of {self._total} files", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
