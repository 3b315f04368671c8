"""``--output-format=junit``: a report that GitLab, Jenkins and others read as test results.

A finding is a test that failed, and a file without one is a test that passed. A test keeps its name while its finding
stays, so that old and new ones can be told apart; pylint's own format of that name puts the line into it.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TextIO

from ddplint.reporters.base import Region, WholeReporter, scope_of, shown

if TYPE_CHECKING:
    from pylint.message import Message

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitReporter(WholeReporter):
    """Writes a test suite for each file."""

    name = "junit"
    extension = "xml"

    def __init__(self, output: TextIO | None = None) -> None:
        super().__init__(output)
        self._files: set[str] = set()

    def on_set_current_module(self, module: str, filepath: str | None) -> None:
        """Note that a file is checked."""
        if filepath is not None:
            self._files.add(shown(filepath))

    def text(self) -> str:
        """The suites in the order of their files; one that passed where no file had to be looked at."""
        found: defaultdict[str, list[Message]] = defaultdict(list)
        for message in self.messages:
            found[shown(message.abspath or message.path)].append(message)
        files = sorted(self._files.union(found)) or [""]
        root = ET.Element("testsuites", {"name": "ddplint", **_counts([len(found[file]) for file in files])})
        for file in files:
            root.append(_suite(file, found[file]))
        ET.indent(root)
        body = ET.tostring(root, encoding="unicode").encode("ascii", "xmlcharrefreplace").decode("ascii")
        return f'<?xml version="1.0" encoding="utf-8"?>\n{body}'


def _counts(failures: list[int]) -> dict[str, str]:
    """The attributes that count the tests of files with so many failures each."""
    tests = sum(max(1, number) for number in failures)
    return {"tests": str(tests), "failures": str(sum(failures)), "errors": "0", "skipped": "0", "time": "0"}


def _suite(file: str, messages: list[Message]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _legal(file) or "ddplint", **_counts([len(messages)])})
    names: Counter[str] = Counter()
    for message in messages:
        name = f"{message.symbol} in {scope_of(message) or 'the module'}"
        names[name] += 1
        case = _case(suite, file, name if names[name] == 1 else f"{name} ({names[name]})")
        region = Region.of(message)
        case.set("line", str(region.line))
        failure = ET.SubElement(case, "failure", type=message.symbol, message=_legal(message.msg))
        failure.text = _legal(f"{file}:{region.line}:{region.column}: {message.msg_id}: {message.msg}")
    if not messages:
        _case(suite, file, "no findings")
    return suite


def _case(suite: ET.Element, file: str, name: str) -> ET.Element:
    case = ET.SubElement(suite, "testcase", name=_legal(name), classname=_legal(_dotted(file)), time="0")
    if file:
        case.set("file", _legal(file))
    return case


def _dotted(file: str) -> str:
    """What stands for a class; dots part packages there."""
    return file.removesuffix(".py").strip("/").replace("/", ".") or "ddplint"


def _legal(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
