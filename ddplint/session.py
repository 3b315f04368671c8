"""ddplint kept ready for a program that asks again and again while files are edited, such as a language server."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from pylint.lint import Run
from pylint.reporters import CollectingReporter

from ddplint import front
from ddplint.baseline import place
from ddplint.checker import DdpChecker, as_in_a_file
from ddplint.configurations import possible_configurations
from ddplint.linter import DdpLinter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pylint.message import Message

_OURS = frozenset(message[1] for message in DdpChecker.msgs.values())
_ASK_PYLINT = """\
import sys
sys.path[:] = filter(None, sys.path)  # not the project's modules
import json
from ddplint.front import configuration
print(json.dumps(configuration(())))
"""
_LONGEST_ANSWER = 60
_NOT_CONFIGURED = ("--from-stdin", "--jobs=1")
"""For what is typed, the configuration decides on neither."""


class Session:
    """What ``ddplint`` says in one folder, of files as they are on the screen."""

    def __init__(self, folder: str, say: Callable[[str], None]) -> None:
        """``folder`` is where the command would be started; ``say`` is given a line when something is wrong."""
        self._folder = os.path.abspath(folder)
        self._say = say
        self._baseline = ""
        self._configured_by: list[object] = []
        self._linter: DdpLinter | None = None
        self._reporter = CollectingReporter()

    def messages(self, path: str, unsaved: Mapping[str, str]) -> list[Message]:
        """What ddplint says about the file at absolute ``path``.

        ``unsaved`` holds the texts of the open files, this one's among them, by their absolute paths.
        Text that is no Python has none, and none has any under a configuration that is wrong.
        """
        while (found := self._configuring()) != self._configured_by:
            self._configured_by = found
            self._linter = self._made()
        if self._linter is None:
            return []
        self._reporter.reset()
        texts = {name: as_in_a_file(text) for name, text in unsaved.items()}
        self._linter.check_open(path, unsaved[path], self._folder, texts)
        return [message for message in self._reporter.messages if message.symbol in _OURS]

    def _made(self) -> DdpLinter | None:
        """A linter as the folder's configuration wants it; None, and a line said, if that is wrong."""
        told = io.StringIO()
        try:
            options, problems = self._configuration()
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                linter = self._waiting([*options, *front.DEFAULTS, *_NOT_CONFIGURED, self._folder])
        except SystemExit:  # an option that is wrong
            self._say(told.getvalue().strip().rpartition("\n")[2].removeprefix("ddplint: error: "))
            return None
        except Exception as error:  # noqa: BLE001 - the editor goes on
            self._say(front.explained(error)[0])
            return None
        for problem in (*problems, *linter.problems):
            self._say(problem)
        linter.set_reporter(self._reporter)
        return linter

    def _waiting(self, arguments: Sequence[str]) -> DdpLinter:
        """A linter that is configured and has checked nothing."""
        session = self

        class Waiting(DdpLinter):
            def check(self, files_or_modules: Sequence[str]) -> None:
                """Check nothing before it is asked."""

            def load_plugin_configuration(self) -> None:
                """Find the baseline from the session's folder, not from the process's."""
                if self.config.baseline:
                    self.config.baseline = session._baseline = place(self.config.baseline, session._folder)
                super().load_plugin_configuration()

            def _load_reporters(self, reporter_names: str) -> None:
                """Open no file for a report."""

        class Prepare(Run):
            LinterClass = Waiting  # type: ignore[assignment]

        linter = Prepare(arguments, self._reporter, exit=False).linter
        assert isinstance(linter, DdpLinter)
        return linter

    def _configuring(self) -> list[object]:
        """What tells whether the configuration is still the same."""
        return [(file, _stamp(file)) for file in (*possible_configurations(self._folder), self._baseline)]

    def _configuration(self) -> tuple[list[str], list[str]]:
        """See ``front.configuration``; asked in a process, as pylint looks where the process stands."""
        done = subprocess.run(
            [sys.executable, "-c", _ASK_PYLINT],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_LONGEST_ANSWER,
        )
        options, problems = json.loads(done.stdout)
        return options, problems


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
