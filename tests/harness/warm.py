"""``ddplint-run`` in processes that are forked from one that has imported torch, which takes seconds each time.

For the commands that fork their ranks themselves: then the parent never computes, and a fork of it is safe.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from conftest import Process

_PARENT = """
import json, os, signal, sys, tempfile
from pathlib import Path

from ddplint.harness import guard, ranks
from ddplint.harness.command import main

ranks.preload()
import ddplint.harness.prove.observe


def tell(folder, name, text):
    Path(folder, f"{name}.part").write_text(str(text))
    Path(folder, f"{name}.part").rename(Path(folder, name))


def be_command(job):
    guard.die_with_parent()
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    tempfile.tempdir = None  # it may have been asked for before
    for number, path in enumerate((os.devnull, f"{job['folder']}/stdout", f"{job['folder']}/stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tell(job["folder"], "pid", os.getpid())
    try:
        status = main(job["arguments"])
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    os._exit(status)


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    job = json.loads(line)
    if os.fork() == 0:
        guard.die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if pid == 0:
            be_command(job)
        tell(job["folder"], "status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
"""


class Job:
    """A command that was started with ``arguments`` in ``cwd``."""

    def __init__(self, arguments: list[str], cwd: Path, **environment: str) -> None:
        self.arguments = arguments
        self._folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        job = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": {**os.environ, **environment},
            "folder": str(self._folder),
        }
        stdin = _parent().stdin
        assert stdin is not None
        print(json.dumps(job), file=stdin, flush=True)

    @property
    def pid(self) -> int:
        """The process that it is."""
        return int(self._told("pid"))

    def result(self) -> Process:
        """What it said, once it has ended."""
        status = int(self._told("status"))
        return Process(self.arguments, status, self._told("stdout"), self._told("stderr"))

    def _told(self, name: str) -> str:
        path, deadline = self._folder / name, time.monotonic() + 300
        while not path.exists():
            assert time.monotonic() < deadline, f"{self.arguments} did not end"
            assert _parent().poll() is None
            time.sleep(0.02)
        return path.read_text(encoding="utf-8")


def run(arguments: list[str], cwd: Path) -> Process:
    """Run ``ddplint-run`` with ``arguments`` in ``cwd``."""
    return Job(arguments, cwd).result()


@cache
def _parent() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process
