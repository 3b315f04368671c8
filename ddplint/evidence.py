"""How a finding gets to the reporters.

pylint hands them messages, in which little is left of it. Of what a checker says only the confidence reaches a reporter
as the object that it was, from a process of ``-j`` too, so it brings the finding along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pylint import interfaces

if TYPE_CHECKING:
    from pylint.message import Message

    from ddplint.findings import Finding


class Evidence(interfaces.Confidence):
    """The confidence of one finding, equal to pylint's level of that name, with the finding."""

    finding: Finding | None = None

    @classmethod
    def of(cls, finding: Finding) -> Evidence:
        """The confidence to give to ``add_message`` for ``finding``."""
        evidence = cls(*interfaces.CONFIDENCE_MAP[finding.confidence.value])
        evidence.finding = finding
        return evidence

    def __repr__(self) -> str:
        return repr(interfaces.Confidence(*self))  # what a msg-template shows


def finding_of(message: Message) -> Finding | None:
    """The finding that a message tells of; None for a message of pylint's own."""
    return message.confidence.finding if isinstance(message.confidence, Evidence) else None
