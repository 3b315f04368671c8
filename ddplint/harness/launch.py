"""Starts a program on several ranks, waits for it within a time, and leaves none of its processes behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ddplint.harness import guard, keeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SITE = Path(__file__).parent / "site"
_GRACE = 3.0  # seconds a program gets to write its stacks or to end by itself, before it is killed
_EXIT = 20.0  # seconds the interpreters get to exit once the program has come to its end on every rank
_LINE = 300  # characters of an error that goes over several lines
_TAIL = 64 * 1024  # bytes of the error stream that are kept
# What a rank says when another one has failed: an effect, never the cause.
_ECHO = re.compile(r"Connection (closed|reset|refused)|Broken pipe|DistNetworkError|SignalException|recvValue failed")
# What a launcher says of a rank that failed, and the rank itself has said better.
_OF_THE_AGENT = ("ChildFailedError", "SignalException", "ProcessRaisedException")
# What a launcher gives its ranks: this process may be one itself.
_OF_A_LAUNCHER = re.compile(
    r"((LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|TORCHELASTIC_\w+)\Z"
)
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
    mark = f"{guard.FOLDER}={folder}"
    with _kept(mark):
        process = subprocess.Popen(
            _command(program, folder),
            env=_environment(program, folder, started),
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
            with _undisturbed():
                _end(process, mark)
                pump.join(_GRACE)  # longer, where something without the mark holds the pipe open
    ended = Ended(process.returncode, time.monotonic() - started)
    if way is _Way.OUT_OF_TIME:
        texts = [_text(path) for path in sorted(folder.glob("stack-*.txt"))]
        return replace(ended, timed_out=True, stacks=tuple(text for text in texts if "\n" in text.strip()))
    if way is _Way.HANGS_AT_EXIT:
        return replace(ended, exit_trouble="the script did not exit")
    if ended.status == 0 and not _lost(folder):
        return ended
    return _explained(ended, folder, tail.decode("utf-8", "replace"), program.nproc)


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


def _command(program: Program, folder: Path) -> list[str]:
    script = [program.script, *program.arguments]
    if program.spawns:
        return [sys.executable, *script]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={program.nproc}"]
    torchrun.append(f"--log-dir={folder / 'torchrun'}")  # by default it is left in the temporary folder
    return [*torchrun, *script]


def _environment(program: Program, folder: Path, started: float) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not _OF_A_LAUNCHER.match(name)}
    environment = {**inherited, **program.environment, guard.FOLDER: str(folder)}
    paths = [str(_SITE), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    # As torchrun sets it for several ranks, but silently and for one rank too.
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment[guard.NPROC] = str(program.nproc)
    if program.spawns:
        environment[guard.PORT] = str(_free_port())
    if program.timeout is not None:
        environment[guard.DEADLINE] = str(started + program.timeout)
    return environment


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _pump(stream: BinaryIO, tail: bytearray) -> None:
    """Pass ``stream`` on to this process's error stream and keep its end in ``tail``."""
    with stream:
        while chunk := os.read(stream.fileno(), 65_536):
            tail += chunk
            del tail[:-_TAIL]
            # Past the buffer: a thread that holds its lock while the interpreter exits aborts the process.
            with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
                while chunk:
                    chunk = chunk[os.write(sys.stderr.fileno(), chunk) :]


@contextlib.contextmanager
def _kept(mark: str) -> Iterator[None]:
    """Let a keeper end the processes with ``mark`` when this is left or this process is gone."""
    command = [sys.executable, "-I", "-S", keeper.__file__, mark]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
        yield  # leaving closes the pipe and waits


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore what would interrupt, such as a second Ctrl-C while the program is ended after the first."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    is_main = threading.current_thread() is threading.main_thread()  # the only one that may ask for it
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End ``process`` and whatever it started, whether it still runs or not."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    if process.poll() is None:
        _signal_group(process, signal.SIGKILL)
    process.wait()
    keeper.end_marked(mark)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _explained(ended: Ended, folder: Path, tail: str, nproc: int) -> Ended:
    """``ended``, a failure, with its first real error or with what went wrong at its exit."""
    notes = _crashes(folder)
    crash = next((note for note in notes if not _ECHO.search(f"{note['type']} {note['text']}")), None)
    reported = _reported(tail, {note["rank"] for note in notes})
    if crash is None and reported is None and notes:
        crash = notes[0]  # an echo, where nothing says of what
    if crash is not None:
        text = _line(str(crash["text"]))
        where = "" if crash["rank"] is None else f"rank {crash['rank']}: "
        return replace(ended, error=f"{where}{crash['type']}: {text}", trace=str(crash["trace"]))
    who, status = ("the script", ended.status) if reported is None else (f"rank {reported[0]}", reported[1])
    what = f"{who} {_way_out(status)}"
    return (
        replace(ended, exit_trouble=what)
        if status < 0 and _ranks_at_end(folder) >= nproc
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


def _lost(folder: Path) -> bool:
    """Whether a process that the program spawned failed, though the program ended as if nothing were wrong."""
    return any(note["spawned"] for note in _crashes(folder))


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
