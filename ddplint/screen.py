"""How the command prints, and what a person at a terminal gets besides the findings: a summary, and the progress.

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
_UNREAD = 1
_USAGE = 32


def put(text: str) -> int:
    """Print ``text`` on the standard output and return 0, or the exit status where it cannot be written.

    That nobody reads any more is not worth a word; another reason is told in a line.
    """
    if sys.stdout is None:  # closed by whoever started the process
        return 0
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        status = _UNREAD
    except OSError as error:
        print(f"ddplint: the output cannot be written: {error.strerror}", file=sys.stderr)
        status = _USAGE
    else:
        return 0
    # Nor must the interpreter try again on its way out.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


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
