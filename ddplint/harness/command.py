"""The ``ddplint-run`` command."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

from ddplint import __version__
from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

COMMANDS = {
    "train": "train the reference script on two or more processes and show what each saw",
    "prove": "run each rule's mistake and its cure, and show the difference in numbers",
    "watch": "run a script as it is and report the mistakes it makes",
    "scale": "measure how throughput grows with the number of processes",
}
_EPILOG = """\
exit status: 0 nothing found, 1 found or not proved, 2 could not run, 3 ran and nothing can be concluded from it,
130 interrupted.
All processes run on this machine, on the CPU with gloo."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (those of the process by default) and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names and errors of a script may hold anything
    try:
        os.getcwd()
    except OSError:
        print("ddplint-run: the working directory is not there any more", file=sys.stderr)
        return Status.FAILED
    parser = argparse.ArgumentParser(
        prog="ddplint-run",
        description="Shows DistributedDataParallel mistakes, and their absence, by running code.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ddplint {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"ddplint.harness.{name}")
        module.add_options(
            commands.add_parser(name, help=summary, description=(module.__doc__ or "").partition("\n")[0])
        )
    options = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _terminate)
    try:
        _require_torch()
        return int(importlib.import_module(f"ddplint.harness.{options.command}").run(options))
    except HarnessError as error:
        print(f"ddplint-run: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("ddplint-run: interrupted", file=sys.stderr)
        return Status.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.FAILED
    except OSError as error:
        print(f"ddplint-run: {error.filename or 'system'}: {error.strerror or error}", file=sys.stderr)
        return Status.FAILED


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise HarnessError("torch is not installed here: pip install 'ddplint[harness]'")


def _terminate(_number: int, _frame: FrameType | None) -> None:
    """A termination ends the command as an interrupt does, so that what it started is ended too."""
    raise KeyboardInterrupt
