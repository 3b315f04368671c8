"""Values that several commands' options take."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ddplint.harness.statuses import HarnessError


def processes(text: str) -> int:
    """A number of processes: 1 to 64."""
    number = count(text)
    if number > 64:
        raise argparse.ArgumentTypeError(f"{number} is more than 64")
    return number


def count(text: str) -> int:
    """A number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return number


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return number


def require_writable(file: str | os.PathLike[str]) -> None:
    """Raise ``HarnessError`` where no ``file`` of that name can be written, before there is anything to write."""
    path = Path(file)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise HarnessError(f"{path.parent}: no such folder")
    if path.is_dir():
        raise HarnessError(f"{path}: is a folder; name a file")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise HarnessError(f"{path}: cannot be written")
