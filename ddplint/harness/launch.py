"""Starts a program on several ranks, waits for it within a time, and leaves none of its processes behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ddplint.harness import guard, keeper, orphans
from ddplint.harness.ending import Ended, explained, lost_a_process, ranks_at_end, stacks
from ddplint.harness.scratch import undisturbed

if TYPE_CHECKING:
    from collections.abc import Mapping

_SITE = Path(__file__).parent / "site"
_GRACE = 3.0  # seconds a program gets to write its stacks or to end by itself, before it is killed
_EXIT = 20.0  # seconds the interpreters get to exit once the program has come to its end on every rank
_TAIL = 64 * 1024  # bytes of the error stream that are kept
# What a launcher gives its ranks: this process may be one itself.
_OF_A_LAUNCHER = re.compile(r"((LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|TORCHELASTIC_\w+)\Z")
# What a launcher gives them too, and whoever starts a script that spawns its own.
_MEETING = ("MASTER_ADDR", "MASTER_PORT")


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


def run(program: Program, folder: Path, stdout: int | BinaryIO | None = None) -> Ended:
    """Run ``program`` to its end.

    ``folder`` is for notes; where it comes from ``scratch``, the program ends even if this process is killed. The
    program's output goes to ``stdout`` (that of this process where None), its errors to this process's. Raises
    ``KeyboardInterrupt`` when interrupted, after ending the program.
    """
    started = time.monotonic()
    others = orphans.adopt()
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
        with undisturbed():
            _end(process, folder, others)
            pump.join(_GRACE)  # longer, where somebody else holds the pipe open
    ended = Ended(process.returncode, time.monotonic() - started)
    if way is _Way.OUT_OF_TIME:
        return replace(ended, timed_out=True, stacks=stacks(folder))
    if way is _Way.HANGS_AT_EXIT:
        return replace(ended, exit_trouble="the script did not exit")
    if ended.status == 0 and not lost_a_process(folder):
        return ended
    return explained(ended, folder, tail.decode("utf-8", "replace"), program.nproc)


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
        # A script that has spawned its ranks may go on after them.
        if at_end is None and not program.spawns and ranks_at_end(folder) >= program.nproc:
            at_end = now
        if at_end is not None and now > at_end + _EXIT:
            return _Way.HANGS_AT_EXIT
        if now > limit:
            return _Way.OUT_OF_TIME
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    return _Way.ENDED


def _command(program: Program, folder: Path) -> list[str]:
    # What begins with a dash would be taken for an option.
    script = [os.path.join(os.curdir, program.script) if program.script.startswith("-") else program.script]
    script += program.arguments
    if program.spawns:
        return [sys.executable, *script]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={program.nproc}"]
    torchrun.append(f"--log-dir={folder / 'torchrun'}")  # by default it is left in the temporary folder
    return [*torchrun, *script]


def _environment(program: Program, folder: Path, started: float) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not _OF_A_LAUNCHER.match(name)}
    if not program.spawns or "RANK" in os.environ:
        inherited = {name: value for name, value in inherited.items() if name not in _MEETING}
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


def _end(process: subprocess.Popen[bytes], folder: Path, others: set[int]) -> None:
    """End ``process`` and whatever it started, whether it still runs or not; not the ``others``, which it did not."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    if process.poll() is None:
        _signal_group(process, signal.SIGKILL)
    process.wait()
    keeper.end_marked(guard.FOLDER, str(folder))
    orphans.end(others)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
