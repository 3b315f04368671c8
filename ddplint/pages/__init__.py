"""The rules' pages: Markdown with the same headings for each rule, and the one source of what is said about it.

``--explain`` prints a page, ``--help-msg`` its description, ``--list`` its summary; the README links to it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

FINDS = "What it finds"
HAPPENS = "What happens, silently"
HEADINGS = (
    FINDS,
    HAPPENS,
    "Wrong",
    "Right",
    "When it stays silent",
    "How to silence it",
    "Proof",
    "References",
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Page:
    """A rule's page: its ``text`` as it stands, the ``summary`` of one line, and the ``sections`` by heading."""

    symbol: str
    id: str
    summary: str
    sections: dict[str, str]
    text: str

    @property
    def description(self) -> str:
        """What is found and what happens, without marks of Markdown but those of code."""
        return _LINK.sub(r"\1", f"{self.sections[FINDS]} {self.sections[HAPPENS]}")


@functools.cache
def page(symbol: str) -> Page:
    """The page of the rule ``symbol``."""
    text = Path(__file__).with_name(f"{symbol}.md").read_text(encoding="utf-8")
    head, *parts = text.split("\n## ")
    title, _, summary = head.partition("\n")
    sections = {heading: body.strip() for heading, _, body in (part.partition("\n") for part in parts)}
    return Page(symbol, title.rpartition("(")[2].rstrip(")"), summary.strip(), sections, text)
