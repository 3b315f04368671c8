"""The exit statuses of ``ddplint-run``."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What a command ends with; the README lists them."""

    FINE = 0
    FOUND = 1  # a mistake was found, a proof did not show its mistake, a baseline was missed
    FAILED = 2  # the command could not do its work: wrong usage, no such script, a script that failed, no torch
    CANNOT_TELL = 3  # it ran, and nothing can be concluded from it: timed out, not measurable on this machine
    INTERRUPTED = 130


class HarnessError(Exception):
    """Something that ends a command; its text is the one line that is printed."""

    def __init__(self, text: str, status: Status = Status.FAILED) -> None:
        super().__init__(text)
        self.status = status
