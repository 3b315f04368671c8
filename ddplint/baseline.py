"""Findings that are known already: a file that names them keeps them silent.

A finding is known by its fingerprint. The file is JSON, one object a finding, in the order of paths, so that a review
shows what was accepted and what went.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ddplint.project.files import read
from ddplint.project.parse import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ddplint.findings import Finding

_VERSION = 1
_TEXTS = {"path": "path", "rule": "rule", "in": "scope", "text": "text"}
"""What each field of an entry is called in the file, but for its number, which is left out where it is 1."""


class BaselineError(Exception):
    """A baseline that cannot be read or written, in one line."""


class Entry(NamedTuple):
    """A known finding; for all but ``path`` see ``Fingerprint``."""

    path: str
    """Relative to the folder of the baseline, with forward slashes."""
    scope: str
    text: str
    rule: str
    number: int

    def __str__(self) -> str:
        line = f"{self.path}: {self.rule} in {self.scope or 'the module'}: {self.text}"
        # A terminal must not obey what the program, or the file, quotes.
        return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)


@dataclass
class Record:
    """What was seen in a run: the files that were checked, the findings, and those that nothing silences in the code.

    Files are absolute real paths.
    """

    checked: set[str] = field(default_factory=set)
    found: set[Finding] = field(default_factory=set)
    shown: set[Finding] = field(default_factory=set)

    def add(self, other: Record) -> None:
        """Add what was seen elsewhere."""
        self.checked |= other.checked
        self.found |= other.found
        self.shown |= other.shown


class Baseline:
    """The known findings in one file."""

    def __init__(self, file: str, entries: Collection[Entry] = ()) -> None:
        """``file`` is where they stand, or will; their paths are relative to its folder."""
        self.file = file
        self.entries = frozenset(entries)
        self._folder = os.path.dirname(os.path.realpath(file))

    @classmethod
    def read(cls, file: str) -> Baseline:
        """The baseline in ``file``.

        Raises ``BaselineError`` if there is none, or what is there is none.
        """
        if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
            raise BaselineError(f"{file}: not a regular file")  # a device may never end
        try:
            with open(file, encoding="utf-8", errors="surrogatepass") as text:
                content = json.load(text)
        except OSError as error:
            raise BaselineError(f"{file}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"{file}: not a baseline: {' '.join(str(error).split())}") from None
        try:
            return cls(file, [_entry(item) for item in _items(content)])
        except (KeyError, TypeError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise BaselineError(f"{file}: not a baseline of this version of ddplint: {reason}") from None

    def knows(self, finding: Finding) -> bool:
        """Whether ``finding`` stands in it."""
        return self.entry(finding) in self.entries

    def entry(self, finding: Finding) -> Entry:
        """What stands for ``finding`` in it."""
        mark = finding.fingerprint
        assert mark is not None
        return Entry(self._relative(finding.path), mark.scope, mark.text, mark.rule, mark.number)

    def gone(self, record: Record, rules: Collection[str]) -> list[Entry]:
        """The entries of ``rules`` in files that were checked, or that are no more, for which nothing was found."""
        found = {self.entry(finding) for finding in record.found}
        checked = self._checked(record)
        return sorted(
            entry
            for entry in self.entries - found
            if entry.rule in rules and (self._path(entry) in checked or not os.path.exists(self._path(entry)))
        )

    def updated(self, record: Record, rules: Collection[str]) -> Baseline:
        """The baseline that knows what was found, and what it knew of files that were not checked."""
        checked = self._checked(record)
        kept = (
            entry
            for entry in self.entries.difference(self.gone(record, rules))
            if self._path(entry) not in checked or entry.rule not in rules
        )
        return Baseline(self.file, {self.entry(finding) for finding in record.shown}.union(kept))

    def write(self) -> None:
        """Write the file anew. Raises ``BaselineError`` if it cannot be written."""
        content = {"version": _VERSION, "findings": [_object(entry) for entry in sorted(self.entries)]}
        text = json.dumps(content, indent=2, ensure_ascii=False)
        try:
            with open(self.file, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.write(f"{text}\n")
        except OSError as error:
            raise BaselineError(f"{self.file}: {error.strerror}") from None

    def _checked(self, record: Record) -> set[str]:
        """The files in it that were checked; one that Python cannot parse was not, whoever looked at it."""
        paths = record.checked.intersection(map(self._path, self.entries))
        return {path for path in paths if (source := read(path)) is None or parse(source) is not None}

    def _relative(self, path: str) -> str:
        with contextlib.suppress(ValueError):  # on another drive
            path = os.path.relpath(path, self._folder)
        return path.replace(os.sep, "/")

    def _path(self, entry: Entry) -> str:
        return os.path.normpath(os.path.join(self._folder, entry.path))


class Ledger:
    """What is done about known findings in one run, or in one process of it."""

    def __init__(self, known: str | None, written: str | None) -> None:
        """``known``: the file of findings to keep silent; ``written``: the one to write this run's findings to.

        Raises ``BaselineError`` for a file that is there and is none, for one that is to be read and is not there, and
        for one that cannot be written because its folder is not there.
        """
        self._record = Record()
        self._written = _to_write(_place(written)) if written else None
        is_made = self._written is not None and known is not None and _place(known) == self._written.file
        self._known = Baseline.read(_place(known)) if known and not is_made else self._written

    def __bool__(self) -> bool:
        """Whether there is anything to be done."""
        return self._known is not None

    def note(self, file: str, findings: Iterable[Finding]) -> None:
        """Take down that a file was checked, and what was found in it."""
        if self:
            self._record.checked.add(os.path.realpath(file))
            self._record.found.update(findings)

    def take(self) -> Record:
        """What was taken down; a new page is begun."""
        record, self._record = self._record, Record()
        return record

    def add(self, record: Record) -> None:
        """Take down what another process saw."""
        self._record.add(record)

    def accepts(self, finding: Finding) -> bool:
        """Take down ``finding``, which nothing in the code silences; true if it is known, or shall be from now on."""
        self._record.shown.add(finding)
        return self._known is not None and (self._written is not None or self._known.knows(finding))

    def close(self, rules: Collection[str]) -> list[str]:
        """Write what is to be written, and return the lines to tell the user. ``rules``: those that were applied.

        Raises ``BaselineError`` if the file cannot be written.
        """
        if self._written is not None:
            new = self._written.updated(self._record, rules)
            new.write()
            added, removed = len(new.entries - self._written.entries), len(self._written.entries - new.entries)
            return [f"{self._written.file}: {len(new.entries)} known findings ({added} added, {removed} removed)"]
        gone = self._known.gone(self._record, rules) if self._known is not None else []
        return [f"known and no longer found: {entry}" for entry in gone]


def place(file: str, folder: str) -> str:
    """Where a baseline stands: a relative one in the absolute ``folder``, or else in the nearest one above with it."""
    above = folder
    while not os.path.exists(found := os.path.join(above, file)):
        if os.path.dirname(above) == above:
            return os.path.join(folder, file)
        above = os.path.dirname(above)
    return found


def _place(file: str) -> str:
    """The same from the working directory, and as it was given if it stands there."""
    here = os.getcwd()
    found = place(file, here)
    return file if found == os.path.join(here, file) else found


def _to_write(file: str) -> Baseline:
    """The baseline to renew: empty where there is none yet."""
    if os.path.exists(file):
        return Baseline.read(file)  # and no other file is ever written over
    if not os.path.isdir(os.path.dirname(file) or os.curdir):
        raise BaselineError(f"{file}: No such file or directory")
    return Baseline(file)


def _items(content: Any) -> Iterable[dict[str, Any]]:
    """The objects in the content of a file; raises ``KeyError`` or ``TypeError`` for content of another form."""
    if not isinstance(content, dict) or content["version"] != _VERSION or not isinstance(content["findings"], list):
        raise TypeError(f'an object with "version": {_VERSION} and a list of "findings" is expected')
    return content["findings"]


def _entry(item: Any) -> Entry:
    if not isinstance(item, dict) or not all(isinstance(item[name], str) for name in _TEXTS):
        raise TypeError(f"a finding has the texts {', '.join(_TEXTS)}")
    number = item.get("number", 1)
    if not isinstance(number, int):
        raise TypeError("a finding's number is no number")
    return Entry(number=number, **{field_name: item[name] for name, field_name in _TEXTS.items()})


def _object(entry: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(entry, field_name) for name, field_name in _TEXTS.items()}
    return fields if entry.number == 1 else {**fields, "number": entry.number}
