"""What a front end asks: the findings of one file."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Collection, Iterable, Mapping

from ddplint.engine import facts
from ddplint.engine.declared import Declared, declared
from ddplint.engine.prefixes import belong_together
from ddplint.engine.program import run
from ddplint.engine.questions import Program, literal_tail
from ddplint.findings import Finding, Span
from ddplint.fingerprints import marked
from ddplint.project import Project
from ddplint.project.files import shows_wrap
from ddplint.project.roots import find_root
from ddplint.rules import BY_SYMBOL
from ddplint.settings import Settings

_MOST_PROGRAMS = 16
_MOST_CANDIDATES = 64
"""Of the programs that reach a file through others, so many are looked at to choose."""
_KEPT_PROGRAMS = 24
"""Of those that wrap, and so hold on to all that was seen in them."""
_MOST_READERS = 3
"""How many programs are run to see whether they read a file that is written."""
_MOST_WORK = 12_000
"""Statements of all programs that are run for one file."""

_CONSTRUCTS = (
    b"DataLoader", b"oader(", b"ampler", b"state_dict", b"arallel", b"DDP", b"backward", b"no_sync", b"ump(", b"open(",
)  # fmt: skip
_WRITERS = (
    b"save", b"write", b"copy", b"move(", b"remove(", b"rename(", b"replace(", b"unlink(", b"rmtree(", b"keep",
    b"store", b"checkpoint", b"ckpt", b"snapshot", b"export", b"record", b"finish",
)  # fmt: skip


_DISTRIBUTED = (b"ddp", b"DDP", b"istributed", b"DISTRIBUTED")
"""One of these stands in the text of a program that is meant for several ranks."""

_DEFINITION = re.compile(rb"(\s*)(?:async def|def|class) (\w+)")
_CONSTRUCT = re.compile(
    rb"\.backward\(|no_sync|DistributedDataParallel\(|DDP\(|DataLoader\(|Sampler\(|save\w*\(|state_dict\("
)


class Analysis:
    """The findings of one run; create one a run, ask it for each file."""

    def __init__(
        self, unsaved: Mapping[str, bytes] | None = None, settings: Settings | None = None, *, lasts: bool = False
    ) -> None:
        """``unsaved`` maps absolute paths to the text that stands in for the file on disk (``--from-stdin``).

        ``lasts``: there will be calls of ``renew``, for which what is read is kept.
        """
        self._unsaved = dict(unsaved or {})
        self._lasts = lasts
        self._settings = settings or Settings()
        self.present: set[tuple[str, str]] = set()
        """The options and their names that were found in the project of a file asked for."""
        self.missing: set[tuple[str, str]] = set()
        """Those that a project should hold, as it has the module they begin with, and does not."""
        self._projects: dict[str, Project] = {}
        self._old: set[str] = set()
        """The roots of the projects that were not asked since the files were taken anew."""
        self._programs: dict[str, Program] = {}
        self._barren: dict[str, Program] = {}
        """The programs that wrap nothing."""
        self._dropped = 0
        self._untidy = 0
        self._found: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}

    def renew(self, unsaved: Mapping[str, bytes]) -> None:
        """Take the files as they stand now, with ``unsaved`` in place of some; what did not change is not read again.

        The answers are those that a new ``Analysis`` would give.
        """
        self._unsaved = dict(unsaved)
        self._old.update(self._projects)

    def findings(self, path: str, symbols: Collection[str]) -> list[Finding]:
        """The findings of the rules ``symbols`` in the file at absolute ``path``, in the order of their lines.

        A file that cannot be read or parsed has none. The answer does not depend on what was asked before.
        """
        path = os.path.realpath(path)
        project = self._project(path)
        if not project.matters(path):
            return []
        module = project.module(path)
        if module is None:
            return []
        entries = self._entries(project, path)
        programs = [self._program(project, entry) for entry in entries]
        found: dict[tuple[Span, str], Finding] = {}
        for symbol in symbols:
            for finding in self._check(symbol, entries, programs):
                if finding.path == path:
                    key = (finding.span, symbol)
                    if key not in found or finding.details < found[key].details:
                        found[key] = finding
        return marked((found[key] for key in sorted(found)), module.display, module.lines(), module.tree)

    def programs(self, path: str) -> list[Program]:
        """The programs that the file at absolute ``path`` runs in, and those that read what it writes."""
        path = os.path.realpath(path)
        project = self._project(path)
        if not project.matters(path) or project.module(path) is None:
            return []
        return [self._program(project, entry) for entry in self._entries(project, path)]

    def _project(self, path: str) -> Project:
        root = find_root(path)
        if root not in self._projects:
            self._projects[root] = Project(root, self._unsaved, lasts=self._lasts)
        elif root in self._old and self._projects[root].renew(self._unsaved):
            # What a program does may follow from any text of its project.
            self._programs.clear()
            self._barren.clear()
            self._found.clear()
        self._old.discard(root)
        return self._projects[root]

    def _program(self, project: Project, entry: str) -> Program:
        if entry in self._barren:
            return self._barren[entry]
        program = self._programs.pop(entry, None)
        if program is None:
            program = Program(run(project, entry, self._declared(project, entry)), project)
            self._clear_up(program.trace.statements)
            if not program.wraps:
                self._barren[entry] = program
                return program
        self._programs[entry] = program
        while len(self._programs) > _KEPT_PROGRAMS:
            del self._programs[next(iter(self._programs))]
            self._dropped += 1
        return program

    def _declared(self, project: Project, entry: str) -> Declared | None:
        """What the settings say of a program; None without settings."""
        if not self._settings:
            return None
        found = declared(project, entry, self._settings)
        self.present |= found.present
        self.missing |= found.missing
        return found

    def _clear_up(self, statements: int) -> None:
        """Give back the memory of what was made in programs, where Python does not do so by itself."""
        self._untidy += statements
        if self._untidy > _MOST_WORK and not gc.isenabled():
            gc.collect(2 if self._dropped >= _KEPT_PROGRAMS else 0)
            self._dropped = self._dropped % _KEPT_PROGRAMS
            self._untidy = 0

    def _entries(self, project: Project, path: str) -> tuple[str, ...]:
        """The programs the file runs in, those that share a writer with it, and those that read what it writes."""
        found: dict[str, Program] = {}
        left = self._add(project, _ordered(project, path), _MOST_WORK, found)
        entries = list(found)
        shared: set[str] = set()
        for program in found.values():
            for save in program.trace.of(facts.Save):
                writer = save.site.module.path
                through = writer != path and any(site.module.path == path for site in save.chain)
                if through and writer not in shared and program.on_many_ranks(save):
                    shared.add(writer)
        left += _MOST_WORK
        for writer in sorted(shared):
            left = self._add(project, _ordered(project, writer), left, found)
        readers = {reader for entry in entries for reader in _readers(project, self._program(project, entry).trace)}
        return tuple(sorted(readers.union(found)))

    def _add(self, project: Project, entries: Iterable[str], budget: int, found: dict[str, Program]) -> int:
        """Run programs until ``budget`` statements were run, and return what is left of it."""
        for entry in entries:
            if budget < 0:
                break
            if entry not in found:
                found[entry] = self._program(project, entry)
                budget -= found[entry].trace.statements
        return budget

    def _check(self, symbol: str, entries: tuple[str, ...], programs: list[Program]) -> list[Finding]:
        key = (symbol, entries)
        if key not in self._found:
            self._found[key] = list(BY_SYMBOL[symbol].check(programs))
        return self._found[key]


def _ordered(project: Project, path: str) -> list[str]:
    """The file itself (if it shows a construct) and its dependents: those that speak of distributed training first.

    Of both kinds, the files that import it come first. Of many others, those come last that do not name, or that
    write anew, what the rules look at in the file.
    """
    entries = [entry for entry in project.dependents(path) if project.may_wrap(entry)]
    others = [entry for entry in entries if entry != path]
    speaking = set(project.holding(_DISTRIBUTED))
    near = [other for other in others if path in project.imports(other)]
    far = sorted(set(others).difference(near), key=lambda other: (other not in speaking, other))[:_MOST_CANDIDATES]
    if len(far) > _MOST_PROGRAMS:
        uses, defines = _constructs(project, path)
        texts = {other: project.source(other) or b"" for other in far}
        far.sort(key=lambda other: not uses.search(texts[other]) or defines.search(texts[other]) is not None)
    own = [path] if path in entries and (not others or _shows_a_construct(project.source(path) or b"")) else []
    ordered = [*own, *sorted((*near, *far), key=lambda other: other not in speaking)]
    return ordered[:_MOST_PROGRAMS]


def _readers(project: Project, trace: facts.Trace) -> list[str]:
    """Programs that wrap a model and write no model, and that name a file to which a wrapper's state dict goes."""
    if not any(state.module.kind == "ddp" for state in trace.of(facts.StateDict)):
        return []
    files = {literal_tail(save.file) for save in trace.of(facts.Save) if save.content is not None}
    names = tuple(sorted(name.encode() for name in files if name))
    found = [
        path
        for path in (project.holding(names) if names else ())
        if (source := project.source(path) or b"")
        and shows_wrap(source)
        and b"load_state_dict(" in source
        and not any(b"torch.save(" in line.partition(b"#")[0] for line in source.split(b"\n"))
        and belong_together(project, path, trace.entry)
    ]
    running = [other for path in found for other in project.dependents(path)]
    return list(dict.fromkeys([*found[:_MOST_READERS], *running]))[:_MOST_READERS]


def _shows_a_construct(source: bytes) -> bool:
    """Whether a construct of a rule, or a call that looks as if it led to a writer, may stand in a file with this text.

    Run by itself, any other file shows nothing; what is reported in it comes from programs that import it.
    """
    return any(word in source for word in _CONSTRUCTS) or any(word in source for word in _WRITERS)


def _constructs(project: Project, path: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """What finds uses of a file's classes and functions that hold a construct, and definitions of such functions."""
    holders, functions = set(), set()
    top, name = b"", b""
    for line in (project.source(path) or b"").split(b"\n"):
        if (match := _DEFINITION.match(line)) is not None:
            name = match.group(2)
            if not match.group(1):
                top = name
        elif name and _CONSTRUCT.search(line):
            functions.add(name)
            holders.add(top)
    names = b"|".join(sorted(holders)) or rb"(?!)"
    again = b"|".join(sorted(functions)) or rb"(?!)"
    return re.compile(rb"\b(?:" + names + rb")\b"), re.compile(rb"^\s*def (?:" + again + rb")\(", re.MULTILINE)
