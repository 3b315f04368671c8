"""Starts a program on several ranks, waits for it within a time, and leaves none of its processes behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ddplint.harness import guard

if TYPE_CHECKING:
    from collections.abc import Mapping

_SITE = Path(__file__).parent / "site"
_GRACE = 3.0  # seconds a program gets to write its stacks or to end by itself, before it is killed
_EXIT = 10.0  # seconds the interpreters get to exit once the program has come to its end on every rank
_TAIL = 64 * 1024  # bytes of the error stream that are kept
# What a rank says when another one has failed: an effect, never the cause.
_ECHO = re.compile(r"Connection (closed|reset|refused)|Broken pipe|DistNetworkError|SignalException|recvValue failed")
_OF_THE_AGENT = ("ChildFailedError", "SignalException")
_REPORTED = re.compile(r"rank\s*:\s*(\d+).*?exitcode\s*:\s*(-?\d+)", re.DOTALL)


@dataclass(frozen=True)
class Program:
    """A script and how to start it.

    ``nproc`` ranks are started by torchrun, or by the script itself where ``spawns``. ``timeout`` is in seconds.
    """

    script: str
    arguments: tuple[str, ...] = ()
    nproc: int = 2
    spawns: bool = False
    timeout: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


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


def run(program: Program, folder: Path, stdout: int | BinaryIO | None = None) -> Ended:
    """Run ``program`` to its end.

    ``folder`` is an empty folder for notes and events. The program's output goes to ``stdout`` (that of this process
    where None), its errors to this process's. Raises ``KeyboardInterrupt`` when interrupted, after ending the program.
    """
    started = time.monotonic()
    environment = _environment(program, folder, started)
    process = subprocess.Popen(
        _command(program),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches this process alone, which then ends the others in order
    )
    assert process.stderr is not None
    tail = bytearray()
    pump = threading.Thread(target=_pump, args=(process.stderr, tail), daemon=True)
    pump.start()
    try:
        way = _wait(process, program, folder, started)
    finally:
        _end(process, folder)
        pump.join(_GRACE)
        if not pump.is_alive():
            process.stderr.close()
    ended = Ended(process.returncode, time.monotonic() - started)
    if way is _Way.OUT_OF_TIME:
        texts = [_text(path) for path in sorted(folder.glob("stack-*.txt"))]
        return replace(ended, timed_out=True, stacks=tuple(text for text in texts if "\n" in text.strip()))
    if way is _Way.HANGS_AT_EXIT:
        return replace(ended, exit_trouble="the script did not exit")
    return ended if ended.status == 0 else _explained(ended, folder, tail.decode("utf-8", "replace"), program.nproc)


class _Way(Enum):
    """How the wait for a program ended."""

    ENDED = 0
    HANGS_AT_EXIT = 1
    OUT_OF_TIME = 2


def _wait(process: subprocess.Popen[bytes], program: Program, folder: Path, started: float) -> _Way:
    limit = float("inf") if program.timeout is None else started + program.timeout + _GRACE
    at_end = None
    while process.poll() is None:
        now = time.monotonic()
        if at_end is None and _ranks_at_end(folder) >= program.nproc:
            at_end = now
        if at_end is not None and now > at_end + _EXIT:
            return _Way.HANGS_AT_EXIT
        if now > limit:
            return _Way.OUT_OF_TIME
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    return _Way.ENDED


def _ranks_at_end(folder: Path) -> int:
    """How many ranks have come to the end of the program without an error."""
    ends = [_read(path) for path in folder.glob("end-*.json")]
    return len({end["rank"] for end in ends if not (folder / f"crash-{end['pid']}.json").exists()} - {None})


def _command(program: Program) -> list[str]:
    script = [program.script, *program.arguments]
    if program.spawns:
        return [sys.executable, *script]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={program.nproc}"]
    return [*torchrun, *script]


def _environment(program: Program, folder: Path, started: float) -> dict[str, str]:
    environment = {**os.environ, **program.environment, guard.FOLDER: str(folder)}
    paths = [str(_SITE), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    # As torchrun sets it for several ranks, but silently and for one rank too.
    environment.setdefault("OMP_NUM_THREADS", "1")
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        if name not in program.environment:
            environment.pop(name, None)
    if program.timeout is not None:
        environment[guard.DEADLINE] = str(started + program.timeout)
    return environment


def _pump(stream: BinaryIO, tail: bytearray) -> None:
    """Pass ``stream`` on to this process's error stream and keep its end in ``tail``."""
    while chunk := os.read(stream.fileno(), 65_536):
        tail += chunk
        del tail[:-_TAIL]
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End ``process`` and whatever it started, whether it still runs or not."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_GRACE)
    if process.poll() is None:
        _signal_group(process, signal.SIGKILL)
    process.wait()
    for pid in _left_behind(folder):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _left_behind(folder: Path) -> list[int]:
    """The processes that carry this launch's mark in their environment (Linux; elsewhere none can be told)."""
    mark = f"{guard.FOLDER}={folder}\0".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def _explained(ended: Ended, folder: Path, tail: str, nproc: int) -> Ended:
    """``ended``, a failure, with its first real error or with what went wrong at its exit."""
    crash = _first_crash(folder)
    if crash is not None:
        text = str(crash["text"]).strip().partition("\n")[0]
        where = "" if crash["rank"] is None else f"rank {crash['rank']}: "
        return replace(ended, error=f"{where}{crash['type']}: {text}", trace=str(crash["trace"]))
    reported = _REPORTED.search(tail)
    who, status = ("the script", ended.status) if reported is None else (f"rank {reported[1]}", int(reported[2]))
    what = f"{who} {_way_out(status)}"
    return (
        replace(ended, exit_trouble=what)
        if status < 0 and _ranks_at_end(folder) >= nproc
        else replace(ended, error=what)
    )


def _first_crash(folder: Path) -> dict[str, Any] | None:
    """The first error of a rank that is not the echo of another's; an echo where there is nothing else."""
    notes = [_read(path) for path in folder.glob("crash-*.json")]
    notes = sorted((note for note in notes if note["type"] not in _OF_THE_AGENT), key=lambda note: note["time"])
    causes = [note for note in notes if not _ECHO.search(f"{note['type']} {note['text']}")]
    return next(iter([*causes, *notes]), None)


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
    empty = {"time": 0.0, "pid": 0, "type": "an error", "text": "", "trace": "", "rank": None}
    return {**empty, **content}


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
