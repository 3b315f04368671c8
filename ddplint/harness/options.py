"""Values that several commands' options take."""

from __future__ import annotations

import argparse


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
