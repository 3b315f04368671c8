"""The ``ddplint`` command.

A run in which nothing concerns DDP ends before pylint, or anything else of weight, is imported.
"""

from __future__ import annotations

import os
import sys
import time

from ddplint.configurations import possible_configurations
from ddplint.screen import is_terminal, summary
from ddplint.targets import find_targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.targets import Search

_USAGE = 32
_HINT = "ddplint: name the files or folders to check, for example: ddplint . (ddplint --help lists the options)"

# Options that cannot change what is printed when there is nothing to say; all others are left to pylint.
_SILENT_FLAGS = frozenset(("--exit-zero",))
_SILENT_OPTIONS = frozenset(("-d", "--disable", "-e", "--enable", "--ignore", "-j", "--jobs", "-f", "--output-format"))
_SILENT_FORMATS = frozenset(("text", "colorized", "parseable", "no-header", "github"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (those of the process by default) and return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if any(argument.startswith(("--explain", "--list")) for argument in arguments):
        from ddplint import explain

        if explain.asked(arguments):
            return explain.answer(arguments)
    paths = _paths(arguments)
    if paths is not None:
        if not paths:
            print(_HINT, file=sys.stderr)
            return _USAGE
        search = find_targets(paths)
        for line in search.problems:
            print(f"ddplint: {line}", file=sys.stderr)
        status = _USAGE if search.problems else 0
        if not search.targets and not _is_output_configured():
            if is_terminal(sys.stdout):
                print(summary(0, search.looked_at, time.monotonic() - search.started))
            return 0 if "--exit-zero" in arguments and not search.problems else status
        return _lint(arguments, search) | status
    return _lint(arguments, None)


def _lint(arguments: list[str], search: Search | None) -> int:
    import gc

    # Trees are full of cycles that live to the end: collecting them doubles the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        from ddplint import front

        return front.run(arguments, search)
    finally:
        if was_enabled:
            gc.enable()


def _paths(arguments: list[str]) -> list[str] | None:
    """The paths among ``arguments``, or None if an option asks for more than messages as text."""
    paths = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            if any(character in argument for character in "*?["):
                return None  # pylint expands patterns
            paths.append(argument)
        elif argument not in _SILENT_FLAGS and not (argument.startswith("-j") and argument[2:].isdecimal()):
            option, is_joined, value = argument.partition("=")
            if option not in _SILENT_OPTIONS:
                return None
            if not is_joined:
                value = next(rest, "")
            if option in ("-j", "--jobs") and not value.isdecimal():
                return None
            if option in ("-f", "--output-format") and value not in _SILENT_FORMATS:
                return None
            if not value or value.startswith("-"):
                return None
    return paths


def _is_output_configured() -> bool:
    """Whether a file that pylint may read its configuration from names an output format or a baseline."""
    for file in possible_configurations(os.getcwd()):
        try:
            with open(file, "rb") as content:
                text = content.read()
            if b"output" in text or b"baseline" in text:
                return True
        except (OSError, ValueError):
            continue
    return False
