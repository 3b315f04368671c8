"""What a rule says about one place in one file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

_DIGITS = 32


class Confidence(Enum):
    """How a finding was reached; the values are the names of pylint's levels."""

    HIGH = "HIGH"
    """One function, literal calls."""
    CONTROL_FLOW = "CONTROL_FLOW"
    """It depends on a guard or a branch."""
    INFERENCE = "INFERENCE"
    """It went through another function or file."""


@dataclass(frozen=True, order=True)
class Span:
    """Where something stands; lines from 1, columns in characters from 0, as Python and pylint count."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Related:
    """Another place that a message speaks of, and what is there, in a few words."""

    path: str
    span: Span
    text: str


@dataclass(frozen=True)
class Fingerprint:
    """What tells a finding from all others, and stays when lines above or below it change.

    No field depends on the machine: ``path`` is relative to the project's root, with forward slashes.
    """

    rule: str
    path: str
    scope: str
    """The names of the classes and functions around it, joined by dots; empty at the top of a module."""
    text: str
    """The statement it stands in, or the head of a compound one, without comments and layout."""
    number: int
    """Its number, from 1, among those equal in all else."""

    @property
    def digest(self) -> str:
        """The fingerprint as a short text without meaning."""
        parts = (self.rule, self.path, self.scope, self.text, str(self.number))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class Finding:
    """One message: ``details`` fill the ``%s`` of the rule's message text in order.

    ``related`` holds the other places the message speaks of, those that it names first; the analysis adds the
    ``fingerprint``.
    """

    symbol: str
    path: str
    span: Span
    details: tuple[str, ...]
    confidence: Confidence = Confidence.HIGH
    related: tuple[Related, ...] = ()
    fingerprint: Fingerprint | None = None
