"""``--output-format=sarif``: SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ddplint import __version__
from ddplint.evidence import finding_of
from ddplint.pages import page
from ddplint.reporters.base import Region, WholeReporter, below_here
from ddplint.rules import RULES, Rule

if TYPE_CHECKING:
    from pylint.message import Message, MessageDefinition

    from ddplint.findings import Finding

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"F": "error", "E": "error", "W": "warning"}
_ROOT = "%SRCROOT%"
_FINGERPRINT = "ddplint/v1"


class SarifReporter(WholeReporter):
    """Writes one run, with all rules of ddplint and those of pylint that found something."""

    name = "sarif"
    extension = "sarif"

    def text(self) -> str:
        """The log."""
        rules = {rule.id: _rule(rule) for rule in RULES}
        for message in self.messages:
            if message.msg_id not in rules:
                definition = self.linter.msgs_store.get_message_definitions(message.msg_id)[0]
                rules[message.msg_id] = _rule_of_pylint(definition)
        indices = {rule_id: index for index, rule_id in enumerate(rules)}
        driver = {
            "name": "ddplint",
            "version": __version__,
            "semanticVersion": __version__,
            "rules": list(rules.values()),
        }
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri().rstrip('/')}/"}},
            "results": [_result(message, indices[message.msg_id]) for message in self.messages],
        }
        return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    about = page(rule.symbol)
    return {
        "id": rule.id,
        "name": rule.symbol,
        "shortDescription": {"text": about.summary.replace("`", "")},
        "fullDescription": {"text": about.description},
        "help": {"text": about.text, "markdown": about.text},
        "defaultConfiguration": {"level": _LEVELS.get(rule.id[0], "note"), "enabled": rule.default_enabled},
        "properties": {"tags": ["correctness", "distributed", "pytorch"]},
    }


def _rule_of_pylint(definition: MessageDefinition) -> dict[str, Any]:
    return {
        "id": definition.msgid,
        "name": definition.symbol,
        "shortDescription": {"text": definition.msg.replace("%s", "…")},
        "fullDescription": {"text": definition.description},
        "help": {"text": definition.description},
        "defaultConfiguration": {"level": _LEVELS.get(definition.msgid[0], "note")},
        "properties": {"tags": ["pylint"]},
    }


def _result(message: Message, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": message.msg_id,
        "ruleIndex": rule,
        "level": _LEVELS.get(message.C, "note"),
        "message": {"text": message.msg},
        "locations": [{"physicalLocation": _place(message.abspath or message.path, Region.of(message))}],
    }
    finding = finding_of(message)
    if finding is not None:
        result.update(_more(finding))
    return result


def _more(finding: Finding) -> dict[str, Any]:
    """What a result says beyond pylint's messages."""
    more: dict[str, Any] = {"properties": {"confidence": finding.confidence.value}}
    if finding.fingerprint is not None:
        more["partialFingerprints"] = {_FINGERPRINT: finding.fingerprint.digest}
    if finding.related:
        more["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _place(other.path, Region.over(other.span)),
                "message": {"text": other.text},
            }
            for number, other in enumerate(finding.related, 1)
        ]
    return more


def _place(path: str, region: Region) -> dict[str, Any]:
    at: dict[str, Any] = {"startLine": region.line, "startColumn": region.column}
    if region.end_line is not None and region.end_column is not None:
        at |= {"endLine": region.end_line, "endColumn": region.end_column}
    return {"artifactLocation": _artifact(path), "region": at}


def _artifact(path: str) -> dict[str, str]:
    inside = below_here(path)
    if inside is None:
        return {"uri": Path(os.path.abspath(path)).as_uri()}
    return {"uri": quote(os.fsencode(inside)), "uriBaseId": _ROOT}
