"""How a launched program ended, from what its processes noted and what torchrun said."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import textwrap
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

_LINE = 300  # characters of an error that goes over several lines
# What a rank says when another one has failed: an effect, never the cause.
_ECHO = re.compile(r"Connection (closed|reset|refused)|Broken pipe|DistNetworkError|SignalException|recvValue failed")
# What a rank says in a collective that does not meet the one of the others.
_OF_PEERS = re.compile(r"gloo|NCCL|preamble|[Tt]imed? ?out|Connection|Broken pipe|recvValue")
# What a launcher says of a rank that failed, and the rank itself has said better.
_OF_THE_AGENT = ("ChildFailedError", "SignalException", "ProcessRaisedException")
# What ``mp.spawn`` raises where a process was ended by a signal or left with a status of its own.
_OF_SPAWN = "ProcessExitedException"
_REPORTED = re.compile(r"rank\s*:\s*(\d+).*?exitcode\s*:\s*(-?\d+)", re.DOTALL)


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    ``status`` is its exit status (a signal's number, negative), ``error`` its first real error in a line or None,
    ``trace`` that error's traceback, ``stacks`` each process's stack where it was ended by the time-out.
    ``exit_trouble`` is what went wrong after the program had come to its end on every rank: torch on gloo sometimes
    aborts or hangs when the interpreter exits, after all work is done. That is no ``error``.
    """

    status: int
    seconds: float
    timed_out: bool = False
    error: str | None = None
    trace: str = ""
    stacks: tuple[str, ...] = ()
    exit_trouble: str | None = None


def is_of_peers(text: str) -> bool:
    """Whether an error, by its type and ``text``, tells of other ranks that did not come or are gone."""
    return _OF_PEERS.search(text) is not None


def ranks_at_end(folder: Path) -> int:
    """How many ranks have come to the end of the program without an error."""
    ends = [_read(path) for path in folder.glob("end-*.json")]
    return len({end["rank"] for end in ends if not (folder / f"crash-{end['pid']}.json").exists()} - {None})


def stacks(folder: Path) -> tuple[str, ...]:
    """Where each process stood when its time was out."""
    texts = [_text(path) for path in sorted(folder.glob("stack-*.txt"))]
    return tuple(text for text in texts if "\n" in text.strip())


def lost_a_process(folder: Path) -> bool:
    """Whether a process that the program spawned failed, though the program ended as if nothing were wrong."""
    return any(note["spawned"] for note in _crashes(folder))


def explained(ended: Ended, folder: Path, tail: str, nproc: int) -> Ended:
    """``ended``, a failure, with its first real error or with what went wrong at its exit."""
    notes = _crashes(folder)
    crash = next((note for note in notes if not _ECHO.search(f"{note['type']} {note['text']}")), None)
    reported = _reported(tail, {note["rank"] for note in notes})
    if crash is None and reported is None and notes:
        crash = notes[0]  # an echo, where nothing says of what
    if crash is not None:
        text = _line(str(crash["text"]))
        if crash["type"] == _OF_SPAWN and ranks_at_end(folder) >= nproc:
            return replace(ended, exit_trouble=text)
        where = "" if crash["rank"] is None else f"rank {crash['rank']}: "
        return replace(ended, error=f"{where}{crash['type']}: {text}", trace=str(crash["trace"]))
    who, status = ("the script", ended.status) if reported is None else (f"rank {reported[0]}", reported[1])
    what = f"{who} {_way_out(status)}"
    return (
        replace(ended, exit_trouble=what)
        if status < 0 and ranks_at_end(folder) >= nproc
        else replace(ended, error=what)
    )


def _line(text: str) -> str:
    """The first line of an error's ``text``, with the lines that continue it, which are indented."""
    first, *others = text.strip().split("\n")
    lines = [first, *takewhile(lambda line: line.strip() and line[0].isspace(), others)]
    return textwrap.shorten(" ".join(lines), _LINE, placeholder=" ...") if len(lines) > 1 else first


def _reported(tail: str, noted: set[int | None]) -> tuple[int, int] | None:
    """The rank that torchrun says failed first, of those that noted no error, and its status; None where it names none.

    What it ended itself, with ``SIGTERM``, is not the cause.
    """
    others, _, first = tail.rpartition("Root Cause")
    failures = [(int(rank), int(status)) for part in (first, others) for rank, status in _REPORTED.findall(part)]
    return next((one for one in failures if one[0] not in noted and one[1] != -signal.SIGTERM), None)


def _crashes(folder: Path) -> list[dict[str, Any]]:
    """What the program's processes noted of errors that nothing caught, by time, and the launchers' own left out."""
    notes = [_read(path) for path in folder.glob("crash-*.json")]
    told = [note for note in notes if note["type"] and note["type"] not in _OF_THE_AGENT]
    return sorted(told, key=lambda note: note["time"])


def _way_out(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = {}  # its disk was full
    empty = {"time": 0.0, "pid": 0, "type": "", "text": "", "trace": "", "rank": None, "spawned": False}
    return {**empty, **content}


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
