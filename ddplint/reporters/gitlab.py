"""``--output-format=gitlab``: a Code Quality report, which GitLab shows in the diff of a merge request."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ddplint.evidence import finding_of
from ddplint.reporters.base import Region, WholeReporter, scope_of, shown

if TYPE_CHECKING:
    from pylint.message import Message

_SEVERITIES = {"F": "blocker", "E": "critical", "W": "major", "R": "minor", "C": "minor", "I": "info"}


class GitlabReporter(WholeReporter):
    """Writes a JSON array with an object for each message."""

    name = "gitlab"
    extension = "json"

    def text(self) -> str:
        """The array; no two messages have one fingerprint, which GitLab would take for the same."""
        seen: Counter[str] = Counter()
        issues = []
        for message in self.messages:
            mark = _mark(message)
            seen[mark] += 1
            issues.append(_issue(message, mark if seen[mark] == 1 else _digest(mark, str(seen[mark]))))
        return json.dumps(issues, indent=2)


def _mark(message: Message) -> str:
    """The finding's fingerprint; for a message of pylint's own, one of what it says, not of its line."""
    finding = finding_of(message)
    if finding is not None and finding.fingerprint is not None:
        return finding.fingerprint.digest
    return _digest(message.symbol, shown(message.abspath or message.path), scope_of(message), message.msg)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _issue(message: Message, mark: str) -> dict[str, Any]:
    region = Region.of(message)
    end_line = region.end_line or region.line
    end_column = region.end_column or region.column
    return {
        "description": message.msg,
        "check_name": message.symbol,
        "fingerprint": mark,
        "severity": _SEVERITIES.get(message.C, "major"),
        "location": {
            "path": shown(message.abspath or message.path),
            "lines": {"begin": region.line, "end": end_line},
            "positions": {
                "begin": {"line": region.line, "column": region.column},
                "end": {"line": end_line, "column": end_column},
            },
        },
    }
