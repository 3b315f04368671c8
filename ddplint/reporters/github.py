"""``--output-format=github``: annotations in the diff of a pull request.

pylint's own format of that name counts columns from 0 where GitHub counts from 1, gives no end column, and lets a ``%``
or a line break in a message spoil the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pylint.reporters import BaseReporter

from ddplint.reporters.base import Region, shown

if TYPE_CHECKING:
    from pylint.message import Message
    from pylint.reporters.ureports.nodes import Section

_COMMANDS = {"F": "error", "E": "error", "W": "warning"}


class GithubReporter(BaseReporter):
    """Writes a workflow command for each message."""

    name = "github"
    extension = "txt"

    def handle_message(self, msg: Message) -> None:
        """Write the command that makes GitHub show ``msg``."""
        region = Region.of(msg)
        at = {"file": shown(msg.abspath or msg.path), "line": region.line}
        if region.end_line in (None, region.line):
            at["col"] = region.column
        if region.end_line is not None and region.end_column is not None:
            at["endLine"] = region.end_line
            if "col" in at:  # GitHub takes columns within one line only
                at["endColumn"] = region.end_column
        at["title"] = f"{msg.symbol} ({msg.msg_id})"
        properties = ",".join(f"{name}={_property(str(value))}" for name, value in at.items())
        self.writeln(f"::{_COMMANDS.get(msg.C, 'notice')} {properties}::{_escaped(msg.msg)}")

    def _display(self, layout: Section) -> None:
        pass


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
