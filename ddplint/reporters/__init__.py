"""The output formats that ddplint adds to pylint's, or mends."""

from __future__ import annotations

from ddplint.reporters.github import GithubReporter
from ddplint.reporters.gitlab import GitlabReporter
from ddplint.reporters.junit import JunitReporter
from ddplint.reporters.sarif import SarifReporter
from ddplint.reporters.terminal import TerminalReporter

REPORTERS = (GithubReporter, GitlabReporter, JunitReporter, SarifReporter, TerminalReporter)

__all__ = ["REPORTERS"]
