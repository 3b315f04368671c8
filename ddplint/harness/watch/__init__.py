"""Run a script as it is, observed, and report for each rule what was seen."""

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
