"""pylint with nothing in it but ddplint's checker, for the ``ddplint`` command.

It keeps pylint's configuration, inline comments and reporters, and leaves out what costs time and cannot
change a ddplint message: the built-in checkers, other plugins, astroid's inference while it builds a tree,
and the trees of files about which there is nothing to say.
"""

from __future__ import annotations

import ast
import os
import sys
import tokenize
import warnings
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

import astroid
from astroid.builder import AstroidBuilder
from astroid.raw_building import InspectBuilder
from pylint import reporters
from pylint.config.exceptions import _UnrecognizedOptionError
from pylint.interfaces import HIGH
from pylint.lint import PyLinter
from pylint.lint.expand_modules import discover_package_path
from pylint.lint.parallel import check_parallel
from pylint.message import Message
from pylint.typing import FileItem, MessageLocationTuple

from ddplint import deep
from ddplint.checker import DEBUG_SWITCH, DdpChecker
from ddplint.reporters.terminal import TerminalReporter
from ddplint.rules import RULES
from ddplint.screen import Progress, is_terminal
from ddplint.sections import options_in_own_section
from ddplint.targets import Target, find_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from astroid import nodes

    from ddplint.targets import Search

    CheckModule = Callable[[nodes.Module], bool | None]

_PLUGIN = "ddplint"
_ABOUT = """\
Give the files or folders to check after the options. Besides those of pylint below there are:
  --list                names the rules
  --explain <rule>[,<rule>...]
                        shows a rule's page: the mistake, its cure, when the rule is silent"""
_TOO_DEEP = "it is nested too deeply"
_ON_COMMENTS = ("file-ignored", "locally-disabled", "suppressed-message", "useless-suppression")
_CONCERNING = (b"DistributedDataParallel", b"torch.distributed")
"""In a file that was not named itself, a syntax error matters if one of these is there; parsing all takes too long."""


class WrongUse(Exception):  # noqa: N818 - it is the user's error, not the program's
    """What the user has to change, in one line."""


class DdpLinter(PyLinter):
    """A ``PyLinter`` that runs ddplint's checker alone.

    ``search`` is what the paths lead to, once it is known; ``unsaved`` is the text of what is not read from disk.
    ``problems`` holds a line for each path that could not be read, where the linter searched itself, and for each
    option in ddplint's section of the configuration that there is not.
    """

    def __init__(self, options: Any = (), option_groups: Any = (), search: Search | None = None) -> None:
        super().__init__(options, option_groups=option_groups)
        self._arg_parser.prog = "ddplint"
        self._arg_parser.description = _ABOUT
        self.search = search
        self.unsaved: dict[str, str] = {}
        self._named: set[str] = set()
        self.problems: list[str] = []
        self._progress = Progress(0)
        self._is_format_given = False

    def load_default_plugins(self) -> None:
        """Register the reporters and ddplint's checker."""
        reporters.initialize(self)
        self.load_plugin_modules([_PLUGIN])
        # The option of a checker that is not loaded; pylint reads it all the same.
        self.config.overgeneral_exceptions = ()

    def load_plugin_modules(self, modnames: Iterable[str], force: bool = False) -> None:
        """Load ddplint; what else the configuration names cannot change a ddplint message."""
        super().load_plugin_modules([name for name in modnames if name == _PLUGIN], force)

    def _parse_configuration_file(self, arguments: list[str]) -> None:
        """Set the options of the configuration file, and note those that are meant for ddplint and unknown."""
        try:
            super()._parse_configuration_file(arguments)
        except _UnrecognizedOptionError as error:
            file = self.current_name or ""  # pylint has set it, for messages about the file
            ours = options_in_own_section(file)
            unknown = [name for name in error.options if name in ours or name.startswith(("ddp-", _PLUGIN))]
            known = ", ".join(option for option, _ in DdpChecker.options)
            for name in dict.fromkeys(unknown):
                self.problems.append(f"{os.path.relpath(file)}: unknown option {name}; ddplint's own are {known}")
            raise
        if self.config.write_baseline:
            raise WrongUse(
                f"{os.path.relpath(self.current_name or '')}: write-baseline is for the command line; "
                "in a configuration it would keep every run from reporting anything"
            )

    def _emit_stashed_messages(self) -> None:
        """Note the rules that options name and that there are not; names of messages of others are no concern here."""
        for (module, _), values in self._stashed_messages.items():
            place = os.path.relpath(module) if os.path.isabs(module) else module.lower()
            for option, name in values:
                if name.startswith("ddp-") or name.lower() == "all":
                    self.problems.append(f"{place}: {option} names no rule: {name} (ddplint --list shows them all)")
        super()._emit_stashed_messages()

    def _load_reporters(self, reporter_names: str) -> None:
        """Use the formats that an option or the configuration names; pylint calls this for nothing else."""
        _check_outputs(
            [file for _, is_named, file in (name.partition(":") for name in reporter_names.split(",")) if is_named]
        )
        self._is_format_given = True
        super()._load_reporters(reporter_names)

    def _parse_error_mode(self) -> None:
        """Finish the configuration (pylint calls this last) and refuse one that leaves nothing to do."""
        if self._error_mode:
            self.disable_noerror_messages()
        if RULES and not any(self.is_message_enabled(rule.symbol) for rule in RULES):
            raise WrongUse("the configuration or the options disable every rule: nothing to check")
        if self.config.msg_template:
            _try_template(self)
        elif not self._is_format_given and is_terminal(sys.__stdout__):
            self._load_reporters(TerminalReporter.name)

    def check(self, files_or_modules: Sequence[str]) -> None:
        """Check the files and folders named."""
        self.initialize()
        if self.config.from_stdin:
            self._check_unsaved(files_or_modules)
            return
        if self.search is None:
            self.search = find_targets(files_or_modules)
            self.problems += self.search.problems
        targets = self.search.targets
        items = list(self._items(targets))
        self._named = {os.path.normpath(target.path) for target in targets if target.path == target.given}
        if self._our_checker.keeps_record:
            for item in self._items(self.search.silent):
                self._our_checker.pass_over(item.filepath)
        self._progress = Progress(len(items))
        try:
            if self.config.jobs > 1 and len(items) > 1:
                check_parallel(self, min(self.config.jobs, len(items)), items)
                return
            with self._astroid_module_checker() as check_module:
                deep.call(lambda: self._check_each(items, check_module))
        finally:
            self._progress.end()

    def set_current_module(self, modname: str, filepath: str | None = None) -> None:
        """Note which file messages belong to; where others check, this is called when one of theirs is done."""
        super().set_current_module(modname, filepath)
        if self.config.jobs > 1:
            self._progress.advance()

    def check_open(self, path: str, text: str, inside: str, unsaved: Mapping[str, bytes]) -> None:
        """Check the file at absolute ``path``, whose text is now ``text``; may be called again and again.

        The configuration's paths are below the folder ``inside``. ``unsaved`` maps absolute paths to what stands in
        place of files, this one included. About text that is no Python, or has no findings, nothing is said.
        """
        self.initialize()
        below = os.path.relpath(path, inside) if path.startswith(os.path.join(inside, "")) else path
        if any(self._is_ignored(part) for part in Target(below, below.split(os.sep)[0] or below).paths()):
            return
        with self._astroid_module_checker() as check_module:
            self._our_checker.renew(unsaved)
            try:
                is_found = self._our_checker.prepare(path)
            except Exception:  # noqa: BLE001 - it is met again, and reported, when the file is visited
                is_found = True
            if is_found:
                self._visit(FileItem(path, path, path), check_module, text)

    def check_single_file_item(self, file: FileItem) -> None:
        """Check one file in a worker process."""
        with self._astroid_module_checker() as check_module:
            deep.call(lambda: self._check_one(file, check_module))

    def get_ast(self, filepath: str, modname: str, data: str | None = None) -> nodes.Module | None:
        """The tree of a file, or None after a message in one line about why there is none."""
        try:
            if data is None:
                return _Builder().file_build(filepath, modname)
            return _Builder().string_build(data, modname, filepath)
        except astroid.AstroidSyntaxError as error:
            line, column = getattr(error.error, "lineno", None), getattr(error.error, "offset", None)
            reason = f"Parsing failed: '{error.error}'"
            self.add_message("syntax-error", line=line or 0, col_offset=column, args=reason, confidence=HIGH)
        except astroid.AstroidBuildingError as error:
            cause = error.__cause__
            self._add_unreadable(getattr(cause, "strerror", None) or str(cause or error))
        except (RecursionError, MemoryError):
            self._add_unreadable(_TOO_DEEP)
        return None

    @property
    def _our_checker(self) -> DdpChecker:
        checker = self._checkers[DdpChecker.name][0]
        assert isinstance(checker, DdpChecker)
        return checker

    def _items(self, targets: Iterable[Target]) -> Iterator[FileItem]:
        """Those of ``targets`` that the configuration does not ignore."""
        ignored: dict[str, bool] = {}
        for target in targets:
            for path in target.paths():
                if path not in ignored:
                    ignored[path] = self._is_ignored(path)
                if ignored[path]:
                    self.stats.skipped += 1
                    break
            else:
                path = os.path.normpath(target.path)
                yield FileItem(path, path, path)

    def _is_ignored(self, path: str) -> bool:
        path = os.path.normpath(path)
        name = os.path.basename(os.path.abspath(path))
        config = self.config
        return (
            name in config.ignore
            or any(pattern.match(name) for pattern in config.ignore_patterns)
            or any(pattern.match(path) for pattern in config.ignore_paths)
        )

    def _check_unsaved(self, names: Sequence[str]) -> None:
        if len(names) != 1 or os.path.isdir(names[0]):
            raise WrongUse("--from-stdin takes exactly one file name")
        if sys.stdin is None:
            raise WrongUse("--from-stdin: the standard input is closed")
        try:
            text = decoded(sys.stdin.buffer.read())
        except (SyntaxError, LookupError, UnicodeError) as error:
            raise WrongUse(f"the text for {names[0]} on standard input cannot be decoded: {error}") from None
        with self._astroid_module_checker() as check_module:
            for item in self._items([Target(names[0], names[0])]):
                self.unsaved[os.path.abspath(item.filepath)] = text
                self._visit(item, check_module, text)

    def _check_each(self, items: Iterable[FileItem], check_module: CheckModule) -> None:
        for item in items:
            self._progress.advance()
            self._check_one(item, check_module)

    def _check_one(self, item: FileItem, check_module: CheckModule) -> None:
        if self._has_something_to_say(item.filepath):
            self._visit(item, check_module, None)
        else:
            self.set_current_module(item.filepath, item.filepath)
        self.stats.modules_names.add(item.filepath)

    def _visit(self, item: FileItem, check_module: CheckModule, text: str | None) -> None:
        name = self._module_name(item.filepath)
        item = FileItem(name, item.filepath, name)

        def get_ast(filepath: str, modname: str, _data: str | None = None) -> nodes.Module | None:
            return self.get_ast(filepath, modname, text)

        try:
            deep.call(lambda: self._check_file(get_ast, check_module, item))  # type: ignore[arg-type]
        except astroid.AstroidError as error:
            cause = error.__cause__
            if isinstance(cause, RecursionError):
                self._add_unreadable(_TOO_DEEP)
            elif os.environ.get(DEBUG_SWITCH):
                raise
            else:
                self.add_message("astroid-error", args=(type(cause).__name__, " ".join(str(cause).split())))

    def _has_something_to_say(self, path: str) -> bool:
        """Whether pylint has to parse the file: for a finding, its syntax error, or a remark on its comments."""
        try:
            if self._our_checker.prepare(os.path.abspath(path)):
                return True
            with open(path, "rb") as file:
                source = file.read()
        except Exception:  # noqa: BLE001 - it is met again, and reported, when the file is visited
            return True
        if b"pylint:" in source and any(self.is_message_enabled(symbol) for symbol in _ON_COMMENTS):
            return True
        return (path in self._named or any(word in source for word in _CONCERNING)) and not _is_python(source)

    def _module_name(self, path: str) -> str:
        parts = os.path.relpath(os.path.realpath(path), discover_package_path(path, self.config.source_roots))
        return ".".join(os.path.splitext(parts)[0].split(os.sep)).removesuffix(".__init__")

    def _add_unreadable(self, reason: str) -> None:
        self.add_message("parse-error", line=1, args=" ".join(reason.split()), confidence=HIGH)


def _check_outputs(files: Sequence[str]) -> None:
    """Refuse ``files`` for reports that would spoil one another, or a program."""
    real = [os.path.realpath(file) for file in files]
    for number, file in enumerate(files):
        if not file:
            raise WrongUse("the output format has a colon, and no file after it")
        if file.endswith(".py"):
            raise WrongUse(f"{file}: a report would be written over a Python file")
        if real[number] in real[:number]:
            raise WrongUse(f"{file}: only one report can be written to a file")


def _try_template(linter: PyLinter) -> None:
    """Refuse a template that pylint fails on when it prints the first message."""
    reporter = reporters.text.TextReporter(StringIO())
    reporter.linter = linter
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reporter.on_set_current_module("module", "path")
            somewhere = MessageLocationTuple("path", "path", "module", "", 1, 0)
            reporter.handle_message(Message("W0000", "symbol", somewhere, "text", HIGH))
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise WrongUse(f"the msg-template cannot be filled in: {type(error).__name__}: {error}") from None


class _Builder(AstroidBuilder):
    """Builds the tree of one file and infers nothing, for which astroid would first model all built-in objects."""

    def __init__(self) -> None:
        InspectBuilder.__init__(self, astroid.MANAGER)
        self._apply_transforms = False

    def delayed_assattr(self, node: nodes.AssignAttr) -> None:
        """Leave ``node`` alone: to find its owner, astroid may parse half of torch."""

    def add_from_names_to_locals(self, node: nodes.ImportFrom, global_name: Collection[str]) -> None:
        """Leave ``node`` alone: a star would be looked up in the module it stands for."""


def decoded(source: bytes) -> str:
    """The text of a Python file.

    Raises ``SyntaxError``, ``LookupError`` or ``UnicodeError`` where it is not in the encoding that it declares.
    """
    encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
    return source.decode(encoding)


def _is_python(source: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(decoded(source))  # bytes in a comment would not be looked at
    except (SyntaxError, LookupError, ValueError, RecursionError, MemoryError):
        return False
    return True
