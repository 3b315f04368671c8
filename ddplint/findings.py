"""What a rule says about one place in one file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
class Finding:
    """One message: ``details`` fill the ``%s`` of the rule's message text in order."""

    symbol: str
    path: str
    span: Span
    details: tuple[str, ...]
    confidence: Confidence = Confidence.HIGH
