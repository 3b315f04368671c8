"""What ``ddplint-run watch`` prints: a table of the verdicts, what they say, and how the script ended."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddplint.harness import show
from ddplint.harness.watch.stacks import standing
from ddplint.harness.watch.verdict import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.harness.ending import Ended
    from ddplint.harness.launch import Program
    from ddplint.harness.watch.lint import Joined
    from ddplint.harness.watch.verdict import Verdict

_WIDTH = 100


@dataclass(frozen=True)
class Report:
    """All there is to say of a run; ``joined`` is None where the linter was not asked, ``notes`` are lines."""

    program: Program
    fake_cuda: bool
    ended: Ended
    verdicts: Sequence[Verdict]
    joined: Sequence[Joined] | None
    notes: Sequence[str]


def print_report(report: Report) -> None:
    """Print everything for a reader."""
    rows = []
    for verdict in report.verdicts:
        is_found = verdict.state is State.FOUND
        place = (_short(verdict.site), ", ".join(map(str, verdict.ranks))) if is_found else ("", "")
        rows.append((verdict.rule, verdict.state.value, *place))
    show.table(("rule", "verdict", "at", "ranks"), rows)
    for verdict in report.verdicts:
        _print_item(verdict.rule, verdict.state.value, verdict.site, verdict.message)
    if report.joined is not None:
        print()
        _print_joined(report.joined)
    lines = [*_ending(report.program, report.ended), *report.notes]
    if lines:
        print()
    for line in lines:
        print(_shortened(line))


def _print_item(rule: str, state: str, site: str | None, message: str) -> None:
    at = f"{_short(site)}: " if site and state == State.FOUND.value else ""
    print(f"\n{at}{rule}: {state}")
    print(
        textwrap.fill(
            _shortened(message),
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _print_joined(joined: Sequence[Joined]) -> None:
    if not joined:
        print("The linter reports nothing in the files that ran, and the run found nothing.")
        return
    show.table(
        ("the linter and the run", "rule", "at"), [(one.fate.value, one.rule, _short(one.site)) for one in joined]
    )


def _ending(program: Program, ended: Ended) -> list[str]:
    """How the script ended, in lines; none where it ended well."""
    if ended.timed_out:
        lines = [f"The script did not end in {program.timeout:g} seconds."]
        return [*lines, *(f"  {_shortened(str(one))}" for one in standing(ended.stacks))]
    if ended.error is not None:
        return [f"The script failed: {ended.error}"]
    if ended.exit_trouble is not None:
        return [f"The work was done; afterwards {ended.exit_trouble}. torch on gloo sometimes does so at exit."]
    return []


def as_json(report: Report) -> dict[str, Any]:
    """The report for a machine.

    ``version``    1; it changes when a field changes its meaning or goes
    ``script``, ``arguments``, ``nproc``    what was run; ``launch``: ``torchrun``, or ``plain`` where it spawns ranks
    ``fake_cuda``  whether CUDA was feigned
    ``ended``      ``status`` (a signal's number, negative), ``seconds``, ``timed_out``, ``error`` (a line or null),
                   ``trace``, ``exit_trouble`` (what went wrong after the work was done, or null), and ``stacks``: for
                   each process of a script that was out of time its ``rank`` and ``frames``
    ``verdicts``   ``rule``, ``state`` (``found``, ``clean``, ``not exercised``, ``cannot judge``), ``site``
                   (``FILE:LINE`` or null), ``sites`` (its stack, innermost first), ``ranks``, ``evidence`` (by rule),
                   ``message``; each rule has one, or one for each place where it was found
    ``lint``       null without ``--lint``; else ``rule``, ``site``, ``fate`` (``confirmed``, ``not seen``,
                   ``not exercised``, ``not reported by the linter``), ``message``
    ``notes``      remarks on the run, in lines
    """
    ended = report.ended
    return {
        "version": 1,
        "script": report.program.script,
        "arguments": list(report.program.arguments),
        "nproc": report.program.nproc,
        "launch": "plain" if report.program.spawns else "torchrun",
        "fake_cuda": report.fake_cuda,
        "ended": {
            "status": ended.status,
            "seconds": round(ended.seconds, 3),
            "timed_out": ended.timed_out,
            "error": ended.error,
            "trace": ended.trace,
            "exit_trouble": ended.exit_trouble,
            "stacks": [{"rank": one.rank, "frames": list(one.frames)} for one in standing(ended.stacks)],
        },
        "verdicts": list(map(_verdict, report.verdicts)),
        "lint": None if report.joined is None else list(map(_joined, report.joined)),
        "notes": list(report.notes),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "rule": verdict.rule,
        "state": verdict.state.value,
        "site": verdict.site,
        "sites": list(verdict.sites),
        "ranks": list(verdict.ranks),
        "evidence": verdict.evidence,
        "message": verdict.message,
    }


def _joined(one: Joined) -> dict[str, Any]:
    return {"rule": one.rule, "site": one.site, "fate": one.fate.value, "message": one.message}


def _short(site: str | None) -> str:
    """A place as seen from the working directory."""
    if site is None:
        return ""
    file, _, line = site.rpartition(":")
    relative = os.path.relpath(file)
    return f"{file if relative.startswith(os.pardir) else relative}:{line}"


def _shortened(text: str) -> str:
    """``text`` with its places as seen from the working directory."""
    return text.replace(os.path.realpath(os.curdir) + os.sep, "")
