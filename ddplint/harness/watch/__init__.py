"""Run a script as it is, observed, and report for each rule what was seen."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from ddplint.harness import launch, scratch
from ddplint.harness.ending import Ended
from ddplint.harness.options import processes, require_writable, seconds
from ddplint.harness.statuses import HarnessError, Status
from ddplint.harness.watch import events

_EPILOG = """\
Verdicts: found; clean; not exercised (it did not happen in this run); cannot judge (it happened, and what was seen
does not tell). The script's output goes to the error stream: the standard output is the report."""

_RANK = re.compile(r"\b(LOCAL_)?RANK\b")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add this command's options to ``parser``."""
    parser.usage = "%(prog)s [options] -- SCRIPT [ARGUMENT ...]"
    parser.epilog = _EPILOG
    parser.add_argument("script", metavar="SCRIPT", help="the training script")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="the script's arguments")
    rest.required = False  # else it is told to be missing beside the script
    parser.add_argument("--nproc", type=processes, default=2, metavar="N", help="processes (default: 2)")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--torchrun", action="store_true", help="start the ranks with torchrun (default: as it looks)")
    way.add_argument("--spawn", action="store_true", help="start the script plainly: it starts its ranks itself")
    parser.add_argument("--timeout", type=seconds, default=300.0, metavar="S", help="seconds allowed (default: 300)")
    parser.add_argument("--fake-cuda", action="store_true", help="let a script that asks for CUDA and nccl run without")
    parser.add_argument("--lint", action="store_true", help="run the linter too, and compare what both say")
    parser.add_argument("--json", metavar="FILE", help="write the report for a machine ('-': in place of the text)")


def run(options: argparse.Namespace) -> Status:
    """Run the script, judge what was seen, and report it."""
    from ddplint.harness.watch import judges, report
    from ddplint.harness.watch.drift import drifts
    from ddplint.harness.watch.lint import join
    from ddplint.harness.watch.meetings import goes_on
    from ddplint.harness.watch.source import Source
    from ddplint.harness.watch.spawning import spawns

    _check(options)
    program = launch.Program(
        options.script,
        tuple(options.arguments),
        options.nproc,
        spawns=options.spawn or (not options.torchrun and spawns(options.script)),
        timeout=options.timeout,
    )
    ended, seen = watch(program, fake_cuda=options.fake_cuda)
    observed = judges.observe(seen)
    source = Source(options.script)
    verdicts = judges.verdicts(observed, source)
    executed = {site for event in seen for site in event.get("sites") or ()}
    joined = join(options.script, verdicts, executed, source) if options.lint else None
    notes = []
    if ended.timed_out and observed.world == 0:
        notes.append("No rank had joined a process group by then: where that only takes longer, raise --timeout.")
    elif ended.timed_out and goes_on(observed):
        notes.append("It was still at work when its time was up: with a longer --timeout it comes further.")
    notes += map(str, drifts(observed))
    if options.fake_cuda:
        notes.append("It ran on fake CUDA: speed, memory and what only a GPU does were not seen.")
    elif ended.error is not None and _asks_for_cuda(ended):
        notes.append("The script asks for CUDA: --fake-cuda lets it run without.")
    if program.spawns and observed.world == 0 and ended.error is not None and _RANK.search(ended.error):
        notes.append("The script was started plainly and asks for its rank: --torchrun starts it as ranks.")
    if observed.is_cut:
        notes.append("It did more than is written down: the verdicts are on the first part of the run.")
    if observed.world > 1 and observed.world != len(observed.ranks):
        notes.append(f"Of its {observed.world} ranks {len(observed.ranks)} were seen.")
    content = report.Report(program, options.fake_cuda, ended, verdicts, joined, notes)
    if options.json != "-":
        report.print_report(content)
    if options.json is not None:
        text = json.dumps(report.as_json(content), indent=2) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            Path(options.json).write_text(text, encoding="utf-8")
    return _status(ended, {verdict.state.value for verdict in verdicts})


def watch(program: launch.Program, *, fake_cuda: bool = False) -> tuple[Ended, list[events.Event]]:
    """Run ``program`` observed, with its output on the error stream; how it ended, and what was seen by time."""
    with scratch.folder() as folder:
        seen = folder / "events"
        seen.mkdir()
        environment = {
            **program.environment,
            events.EVENTS: str(seen),
            **({events.FAKE_CUDA: "1"} if fake_cuda else {}),
        }
        sys.stderr.flush()
        ended = launch.run(replace(program, environment=environment), folder, stdout=sys.stderr.buffer)
        return ended, [*events.read(seen), *([events.time_up()] if ended.timed_out else [])]


def _check(options: argparse.Namespace) -> None:
    """Refuse what cannot be run or written before anything is started."""
    script = options.script
    if os.path.isdir(script):
        raise HarnessError(f"{script}: is a folder; name a script")
    if not os.path.isfile(script):
        raise HarnessError(f"{script}: no such file")
    if not os.access(script, os.R_OK):
        raise HarnessError(f"{script}: cannot be read")
    if options.json not in (None, "-"):
        require_writable(options.json)


def _asks_for_cuda(ended: Ended) -> bool:
    said = [line for line in ended.trace.splitlines() if not line.lstrip().startswith("File ")]
    return any(word in text for word in ("cuda", "nccl", "accelerator") for text in map(str.lower, said))


def _status(ended: Ended, states: set[str]) -> Status:
    if ended.timed_out:
        return Status.FOUND if "found" in states else Status.CANNOT_TELL
    if ended.error is not None:
        return Status.FAILED
    if "found" in states:
        return Status.FOUND
    return Status.FINE if "clean" in states else Status.CANNOT_TELL
