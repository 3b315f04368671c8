"""The command once pylint is needed: options in, exit status out, and no traceback for the user."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

from pylint import config
from pylint.config import find_default_config_files
from pylint.config.exceptions import ArgumentPreprocessingError
from pylint.constants import full_version
from pylint.exceptions import InvalidReporterError
from pylint.lint import Run
from pylint.reporters import MultiReporter

from ddplint import __version__
from ddplint.checker import DEBUG_SWITCH
from ddplint.linter import DdpLinter, WrongUse
from ddplint.screen import put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.targets import Search

USAGE = 32
_FATAL = 1
_INTERRUPTED = 130

DEFAULTS = (
    # What a configuration made for all of pylint says about checkers and plugins that are not loaded here.
    "--disable=bad-plugin-value,unknown-option-value,unrecognized-inline-option,unrecognized-option,"
    "useless-option-value",
    "--persistent=n",
    "--reports=n",
    "--score=n",
)


def run(arguments: Sequence[str], search: Search | None) -> int:
    """Lint as the command line ``arguments`` say and return the exit status.

    ``search`` is what its paths lead to, where that is known already.
    """
    if "--version" in arguments:
        return put(f"ddplint {__version__}\n{full_version}\n")
    try:
        options, problems = configuration(arguments)
        for problem in problems:
            _say(problem)
        # Printed all at once: while pylint walks a tree, a closed pipe would count as a failure of the checker.
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                status = _lint([*options, *DEFAULTS, *arguments], search, output)
        finally:
            unwritten = put(output.getvalue())
        return unwritten or status | (USAGE if problems else 0)
    except KeyboardInterrupt:
        _say("interrupted")
        return _INTERRUPTED
    except Exception as error:
        line, status = explained(error)
        if status == _FATAL and os.environ.get(DEBUG_SWITCH):
            raise
        _say(line)
        return status


def explained(error: Exception) -> tuple[str, int]:
    """One line about ``error``, which ended a run or kept it from starting, and the exit status."""
    reason = " ".join(str(error).split())
    if isinstance(error, WrongUse | ArgumentPreprocessingError):
        return reason, USAGE
    if isinstance(error, InvalidReporterError):
        return f"unknown output format: {reason}", USAGE
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else reason, USAGE
    if os.path.dirname(traceback.extract_tb(error.__traceback__)[-1].filename) == os.path.dirname(config.__file__):
        return f"pylint cannot read its configuration: {reason}", USAGE
    return f"{type(error).__name__}: {reason}", _FATAL


def _lint(arguments: list[str], search: Search | None, output: io.StringIO) -> int:
    class OurRun(Run):
        @staticmethod
        def LinterClass(options: Any, option_groups: Any) -> DdpLinter:  # type: ignore[override]  # noqa: N802
            return DdpLinter(options, option_groups, search)

    try:
        linter = OurRun(arguments, exit=False).linter
    except SystemExit as end:  # help, a list of messages, or an option that is wrong
        if not end.code:
            return 0
        for line in output.getvalue().splitlines():  # pylint prints some reasons where a report is expected
            _say(line)
        output.truncate(0)
        return USAGE
    assert isinstance(linter, DdpLinter)
    if isinstance(linter.reporter, MultiReporter):
        linter.reporter.close_output_files()
    for problem in linter.problems:
        _say(problem)
    if linter.config.exit_zero:
        return 0
    # Not pylint's score: a fail-under meant for all of pylint must not hide a finding.
    status: int = linter.msg_status or (1 if linter.any_fail_on_issues() else 0)
    return status | (USAGE if linter.problems else 0)


def configuration(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The option that names pylint's configuration file, if any, and a line for each one that cannot be read.

    ``arguments`` are the command line's; the file is looked for as pylint does, from the working directory on.
    """
    if any(argument.startswith("--rc") for argument in arguments):
        return [], []
    remarks = io.StringIO()
    with contextlib.redirect_stdout(remarks):  # pylint prints them where a report may be expected
        try:
            file = next(find_default_config_files(), None)
        except (OSError, ValueError) as error:
            file = None
            print(f"a configuration file cannot be read: {error}")
    said = remarks.getvalue().replace(f"'{os.getcwd()}{os.sep}", "'")
    problems = list(dict.fromkeys(said.splitlines()))
    if file is None:
        return [f"--rcfile={os.devnull}"] if problems else [], problems
    return [f"--rcfile={file}"], problems


def _say(line: str) -> None:
    print(f"ddplint: {line}", file=sys.stderr)
