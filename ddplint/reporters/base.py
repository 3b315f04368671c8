"""What reports for other programs share: they are written when all is known, and name places in one way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from pylint.reporters import BaseReporter

from ddplint.evidence import finding_of
from ddplint.findings import Span

if TYPE_CHECKING:
    from pylint.message import Message
    from pylint.reporters.ureports.nodes import Section


class Region(NamedTuple):
    """Lines and columns, both from 1, as other programs count; the end column is the one after the last character.

    pylint leaves out the end of some of its own messages.
    """

    line: int
    column: int
    end_line: int | None
    end_column: int | None

    @classmethod
    def of(cls, message: Message) -> Region:
        """Where a message stands."""
        end = message.end_line, message.end_column
        if end[0] is None or end[1] is None:
            return cls(message.line, message.column + 1, None, None)
        return cls(message.line, message.column + 1, end[0], end[1] + 1)

    @classmethod
    def over(cls, span: Span) -> Region:
        """The same place as ``span``."""
        return cls(span.line, span.column + 1, span.end_line, span.end_column + 1)


class WholeReporter(BaseReporter):
    """Collects the messages and writes one document at the end, in ASCII, which any output can take."""

    def text(self) -> str:
        """The document."""
        raise NotImplementedError

    def display_messages(self, layout: Section | None) -> None:
        """Write the document; pylint calls this once, after the last message."""
        self.writeln(self.text())

    def display_reports(self, layout: Section) -> None:
        """Leave out pylint's tables and score."""

    def _display(self, layout: Section) -> None:
        pass


def below_here(path: str) -> str | None:
    """``path`` relative to the working directory, with forward slashes; None where it is not below it."""
    for here in (os.getcwd(), os.path.realpath(os.getcwd())):
        inside = os.path.join(here, "")
        if os.path.abspath(path).startswith(inside):
            return os.path.abspath(path)[len(inside) :].replace(os.sep, "/")
    return None


def shown(path: str) -> str:
    """``path`` as a report names it: relative where it can be, with forward slashes."""
    return below_here(path) or path.replace(os.sep, "/")


def scope_of(message: Message) -> str:
    """The names of the classes and functions around a message, joined by dots; empty at the top of a module."""
    finding = finding_of(message)
    if finding is not None and finding.fingerprint is not None:
        return finding.fingerprint.scope
    return message.obj
