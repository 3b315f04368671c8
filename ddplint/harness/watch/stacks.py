"""Where a program that was out of time stood: the program's own frames in what ``faulthandler`` wrote."""

from __future__ import annotations

import os
import re
import sysconfig
from dataclasses import dataclass

_HEAD = re.compile(r"rank (\d+)")
_FRAME = re.compile(r'\s*File "(.+)", line (\d+) in (.+)')
_THREAD = re.compile(r"(Current thread|Thread) ")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LIBRARY = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


@dataclass(frozen=True)
class Standing:
    """Where a rank stood: its frames as ``FILE:LINE in FUNCTION``, innermost first; ``rank`` is None outside one."""

    rank: int | None
    frames: tuple[str, ...]

    def __str__(self) -> str:
        """A line for the report."""
        who = "a process without a rank" if self.rank is None else f"rank {self.rank}"
        return f"{who} stood at {', called from '.join(self.frames) or 'a place outside the program'}"


def standing(texts: tuple[str, ...]) -> list[Standing]:
    """Where each process stood, by rank; processes that were nowhere in the program are left out beside others."""
    found = sorted((_read(text) for text in texts), key=lambda one: (one.rank is None, one.rank or 0))
    return [one for one in found if one.frames] or found


def _read(text: str) -> Standing:
    head = _HEAD.match(text)
    threads: list[list[str]] = [[]]
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif (frame := _FRAME.match(line)) is not None and _is_of_the_program(frame[1]):
            threads[-1].append(f"{frame[1]}:{frame[2]} in {frame[3]}")
    # The main thread is written last.
    frames = next((frames for frames in reversed(threads) if frames), [])
    return Standing(int(head[1]) if head else None, tuple(frames))


def _is_of_the_program(file: str) -> bool:
    installed = any(part in file for part in _INSTALLED)
    return not (installed or file.startswith(("<", _PACKAGE, *_LIBRARY)))
