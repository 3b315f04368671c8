"""The pylint checker: it asks for the findings of the visited file and hands them to pylint."""

from __future__ import annotations

import contextlib
import os
import sys
import tokenize
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from astroid import nodes
from pylint.checkers import BaseChecker

from ddplint import deep, settings
from ddplint.analysis import Analysis
from ddplint.baseline import BaselineError, Ledger
from ddplint.evidence import Evidence
from ddplint.pages import page
from ddplint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pylint.lint import PyLinter
    from pylint.typing import MessageDefinitionTuple, Options

    from ddplint.baseline import Record
    from ddplint.findings import Finding

INTERNAL_ERROR = "ddp-internal-error"
DEBUG_SWITCH = "DDPLINT_DEBUG"
_WRONG_USE = 32

Name = tuple[str, str]
"""An option and a name that it is given."""


def _messages() -> dict[str, MessageDefinitionTuple]:
    messages: dict[str, MessageDefinitionTuple] = {
        rule.id: (rule.message, rule.symbol, page(rule.symbol).description, {"default_enabled": rule.default_enabled})
        for rule in RULES
    }
    messages["W7199"] = (
        "ddplint failed on this file and reports nothing in it: %s",
        INTERNAL_ERROR,
        "A mistake in ddplint itself, not in the file. The other files are checked as usual. "
        f"With {DEBUG_SWITCH} set in the environment the exception is raised instead.",
    )
    return messages


_FILES = {
    "baseline": "Keep the findings silent that this file names, and tell which of them are gone.",
    "write-baseline": "Write the findings to this file, for --baseline, and report none.",
}


def _options() -> Options:
    # Without a default, so that an option that is given and empty can be told, and is not written by --generate-rcfile.
    kind = {"type": "csv", "default": None, "metavar": "<dotted names>"}
    names: Options = tuple((name, {**kind, "help": settings.HELP[field]}) for field, name in settings.OPTIONS.items())
    file = {"type": "path", "default": "", "metavar": "<file>"}
    files: Options = tuple((name, {**file, "help": text}) for name, text in _FILES.items())
    return (*names, *files)


def _check_file(option: str, name: str) -> None:
    if name in ("True", "False"):  # what pylint makes of TOML's true and false
        raise settings.WrongSettingError(f"argument --{option}: a file is expected, not {name.lower()}")


def check_options(linter: PyLinter) -> None:
    """Read the options of ddplint, and end the process as pylint does where a value is not what its option takes."""
    try:
        settings.read(linter.config)
        for name in _FILES:
            _check_file(name, getattr(linter.config, name.replace("-", "_")))
    except settings.WrongSettingError as error:
        try:
            linter._arg_parser.error(str(error))  # noqa: SLF001 - pylint has no other way to say it
        except SystemExit:
            sys.exit(_WRONG_USE)


class DdpChecker(BaseChecker):
    """Reports what ``Analysis`` finds in each file that pylint visits."""

    name = "ddplint"
    msgs = _messages()
    options = _options()

    def __init__(self, linter: PyLinter) -> None:
        super().__init__(linter)
        # One for all saved files of a run, so that what they share is read once.
        self._analysis: Analysis | None = None
        self._prepared: dict[str, list[Finding]] = {}
        self._symbols: list[str] = []
        self._settings = settings.Settings()
        self._present: set[Name] = set()
        self._missing: set[Name] = set()
        self._told: set[Name] = set()
        self._ledger = Ledger(None, None)

    def read_baseline(self) -> None:
        """Read the files that the options name, or end the process with a line about why they cannot be read."""
        with _one_line():
            self._ledger = Ledger(self.linter.config.baseline, self.linter.config.write_baseline)

    def open(self) -> None:
        """Note which rules are enabled; what comments in a file enable or disable is pylint's affair."""
        self._symbols = [rule.symbol for rule in RULES if self.linter.is_message_enabled(rule.symbol)]
        given = settings.read(self.linter.config)
        if given != self._settings:
            self._settings, self._analysis = given, None

    def close(self) -> None:
        """Tell which names in the options name nothing, and which known findings are gone.

        What a process of -j has seen is told by the one above it.
        """
        if _is_worker():
            return
        if self._missing:
            _tell(self._missing - self._present - self._told)
            self._told |= self._missing
        with _one_line():
            remarks = self._ledger.close(self._symbols)
        for remark in () if self.linter.config.from_stdin else remarks:  # an editor would take it for a failure
            print(f"ddplint: {remark}", file=sys.stderr)

    def get_map_data(self) -> tuple[set[Name], set[Name], Record]:
        """What a process of -j knows of the names in the options, and saw in the file it was given last."""
        return self._present, self._missing, self._ledger.take()

    def reduce_map_data(self, _linter: PyLinter, data: list[tuple[set[Name], set[Name], Record]]) -> None:
        """Tell what the processes of -j have seen."""
        for present, missing, record in data:
            self._present |= present
            self._missing |= missing
            self._ledger.add(record)
        self.open()
        self.close()

    @property
    def keeps_record(self) -> bool:
        """Whether it matters which files are checked."""
        return bool(self._ledger)

    def pass_over(self, path: str) -> None:
        """Take the file at ``path`` for checked: nothing can be found in it."""
        self._ledger.note(path, ())

    def visit_module(self, node: nodes.Module) -> None:
        """Add a message for each finding in the file of ``node``."""
        if node.file is None:
            return
        try:
            findings = self._prepared.pop(node.file, None)
            if findings is None:
                findings = self._findings(node.file, unsaved_source(node))
        except Exception as error:  # any other exception ends the whole of a pylint -j run
            if os.environ.get(DEBUG_SWITCH):
                raise
            self.add_message(INTERNAL_ERROR, node=node, line=1, col_offset=0, args=(_where_it_failed(error),))
            return
        for finding in findings:
            self._report(node, finding)

    def prepare(self, path: str) -> bool:
        """Look for findings in the saved file at absolute ``path`` before it is visited; false if there are none.

        May raise what the analysis raises; the visit then reports it.
        """
        try:
            findings = self._findings(path, None)
        except Exception:
            self._analysis = None  # it may be half done
            raise
        if findings:
            self._prepared[path] = findings
        return bool(findings)

    def renew(self, unsaved: Mapping[str, bytes]) -> None:
        """Take the files as they stand now, with ``unsaved`` in place of some, for what is prepared from now on.

        What did not change since the last time is not read again, and what was seen before is forgotten.
        """
        self._ledger.take()
        if self._analysis is None:
            self._analysis = Analysis(unsaved, self._settings, lasts=True)
        else:
            self._analysis.renew(unsaved)

    def _findings(self, path: str, unsaved: bytes | None) -> list[Finding]:
        if not self._symbols:
            return []
        if unsaved is not None:
            analysis = Analysis({os.path.realpath(path): unsaved}, self._settings)
        else:
            analysis = self._analysis = self._analysis or Analysis(settings=self._settings)
        findings = deep.call(lambda: analysis.findings(path, self._symbols))
        self._present |= analysis.present
        self._missing |= analysis.missing
        self._ledger.note(path, findings)
        return findings

    def _report(self, module: nodes.Module, finding: Finding) -> None:
        span = finding.span
        evidence = Evidence.of(finding)
        if self._ledger and self.linter.is_message_enabled(finding.symbol, span.line, evidence):
            if self._ledger.accepts(finding):
                return
        # pylint takes the file and the name of the enclosing function from the node, the place from the rest.
        self.add_message(
            finding.symbol,
            node=_scope_at(module, span.line),
            line=span.line,
            col_offset=span.column,
            end_lineno=span.end_line,
            end_col_offset=span.end_column,
            args=finding.details or None,
            confidence=evidence,
        )


def _is_worker() -> bool:
    """Whether this is a process of pylint's -j."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """End the process where a baseline cannot be used, as pylint does where an option is wrong."""
    try:
        yield
    except BaselineError as error:
        print(f"ddplint: {error}", file=sys.stderr)
        sys.exit(_WRONG_USE)


def _tell(names: set[Name]) -> None:
    for option, name in sorted(names):
        print(f"ddplint: {option}: the project has the module that {name} begins with, but not {name}", file=sys.stderr)


def unsaved_source(module: nodes.Module) -> bytes | None:
    """The bytes pylint was given in place of the file on disk (``--from-stdin``), as a file would hold them."""
    source = module.file_bytes
    if source is None:
        return None
    # astroid encodes the text as UTF-8 whatever its first lines declare.
    return as_in_a_file(source if isinstance(source, str) else source.decode("utf-8", "surrogatepass"))


def as_in_a_file(text: str) -> bytes:
    """``text`` in the encoding that its first lines declare."""
    source = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        return source if encoding == "utf-8-sig" else text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return source


def _scope_at(module: nodes.Module, line: int) -> nodes.NodeNG:
    """The innermost module, class or function that holds ``line``."""
    scope: nodes.NodeNG = module
    node: nodes.NodeNG | None = module
    while node is not None:
        if isinstance(node, nodes.ClassDef | nodes.FunctionDef):
            scope = node
        node = next((child for child in node.get_children() if _holds(child, line)), None)
    return scope


def _holds(node: nodes.NodeNG, line: int) -> bool:
    return node.lineno is not None and node.lineno <= line <= (node.end_lineno or node.lineno)


def _where_it_failed(error: Exception) -> str:
    """One line: what was raised, in which rule, and the innermost place in ddplint that it passed."""
    package = Path(__file__).parent
    rule = place = ""
    traceback = error.__traceback__
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            inside = file.relative_to(package)
            place = f" at {inside.as_posix()}:{traceback.tb_lineno}"
            if inside.parts[0] == "rules" and inside.stem != "__init__":
                rule = f" in rule {inside.stem.replace('_', '-')}"
        traceback = traceback.tb_next
    reason = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if reason else ''}{reason[:200]}{rule}{place}"
