"""Measure how throughput grows with the number of processes, and name the first cause where it falls short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add this command's options to ``parser``."""


def run(options: argparse.Namespace) -> Status:
    """Not written yet."""
    raise HarnessError("not written yet")
