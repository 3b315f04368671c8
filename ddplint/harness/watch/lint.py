"""What the linter says about the same program, beside what its run showed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ddplint.harness.statuses import HarnessError
from ddplint.harness.watch.judges import RULES
from ddplint.harness.watch.verdict import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ddplint.harness.watch.source import Source
    from ddplint.harness.watch.verdict import Verdict


class Fate(Enum):
    """What a run did to a finding of the linter's, and the other way round."""

    CONFIRMED = "confirmed"
    NOT_SEEN = "not seen"  # its code ran, and the mistake did not show
    NOT_EXERCISED = "not exercised"  # the run did not get to it, or could not tell
    RUN_ALONE = "not reported by the linter"


@dataclass(frozen=True)
class Joined:
    """A finding of the linter's, or one of the run's that the linter does not report."""

    rule: str
    site: str
    fate: Fate
    message: str


def join(script: str, found: Sequence[Verdict], executed: Iterable[str], source: Source) -> list[Joined]:
    """Lint the script and the files that ran, and hold what is reported against the verdicts ``found``.

    ``executed`` are the ``FILE:LINE`` of the program that events tell of. Of the arms of a test the linter names the
    first and a run the one that ran; ``source`` tells that they belong together. Raises ``HarnessError`` where the
    linter cannot be run.
    """
    executed = set(executed)
    files = {os.path.realpath(script), *(site.rpartition(":")[0] for site in executed)}
    reported = _reported(sorted(file for file in files if os.path.isfile(file)))
    mistakes = [verdict for verdict in found if verdict.state is State.FOUND]
    joined: list[Joined] = []
    met: set[int] = set()
    for rule, site, message in reported:
        of_rule = [verdict for verdict in mistakes if verdict.rule == rule]
        fitting = [one for one in of_rule if site in _places(one) or source.are_arms(site, one.site or "")]
        met.update(map(id, fitting))
        states = {verdict.state for verdict in found if verdict.rule == rule}
        told = not states.isdisjoint((State.CLEAN, State.FOUND)) and site in executed
        fate = Fate.CONFIRMED if fitting else Fate.NOT_SEEN if told else Fate.NOT_EXERCISED
        joined.append(Joined(rule, site, fate, message))
    for verdict in mistakes:
        if id(verdict) not in met:
            joined.append(Joined(verdict.rule, verdict.site or "", Fate.RUN_ALONE, verdict.message))
    return joined


def _places(verdict: Verdict) -> set[str]:
    """The frames that a verdict speaks of."""
    return {*verdict.sites, *(str(value) for value in verdict.evidence.values())}


def _reported(files: list[str]) -> list[tuple[str, str, str]]:
    """The linter's messages on ``files`` for the rules that are judged: rule, ``FILE:LINE``, text."""
    command = [
        sys.executable,
        "-m",
        "ddplint",
        "--output-format=json2",
        "--exit-zero",
        f"--enable={','.join(RULES)}",
        *files,
    ]
    process = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    try:
        messages = json.loads(process.stdout)["messages"] if process.stdout.strip() else []
    except (ValueError, KeyError):
        raise HarnessError(f"the linter could not be run: {process.stderr.strip()[-300:]}") from None
    found = []
    for message in messages:
        if message["symbol"] in RULES:
            path = os.path.realpath(message["absolutePath"])
            found.append((message["symbol"], f"{path}:{message['line']}", message["message"]))
    return sorted(found)
