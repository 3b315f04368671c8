"""How the verdicts of ``watch`` agree with the cases in testdata: ``python -m tests.harness.survey [CASE ...]``.

Each case of the rules' families is run and judged. Ranks that torchrun would start are forked from this process, which
has torch imported: a case then takes a second where a launch takes ten. Cases that start their own ranks are launched
as they are.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import os
import random
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddplint.harness import guard, launch, ranks
from ddplint.harness.watch import events, judges, watch
from ddplint.harness.watch.source import Source
from ddplint.harness.watch.verdict import State, Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "testdata" / "cases"
FAMILIES = (
    "sampler", "epoch", "wrapper", "save", "device", "accum",
    "drift", "bypass", "collective", "exit", "split", "race", "noautograd",
)  # fmt: skip
UNSAFE = ("collective-bad-", "exit-bad-", "race-bad-")  # they say that they cannot be run: they may wait for ever
EXPECTED = re.compile(r"#\s*\[((?:ddp-[a-z-]+)(?:\s*,\s*ddp-[a-z-]+)*)\]\s*$")
EXPLAINED = {
    "collective-bad-skip-above-reduce": "no loss of this run is NaN",
    "race-bad-best-again-at-a-turn": "the smallest loss came before the epoch that it goes back from",
    "race-bad-given-back-after-loop": "its right call did not run, or the smallest loss came before the last step",
    "split-ok-order-kept-by-the-sampler": "its order is drawn at the end of the pass before: the first comes twice",
    "sampler-ok-config-chooses-order": "the sampler's class is named in a configuration, which only a run sees",
    "device-bad-conditional-half": "the cast is asked for by an environment variable that is not set",
    "device-ok-ids-of-cpu-net": "right on a CPU; with nccl, as on fake CUDA, torch refuses this wrap",
}
"""Disagreements that stay, and why."""
SAME_ROWS = "Each rank's model is given the same rows"
LIMIT = 60.0  # seconds for a forked case
HANGS = 20.0  # seconds for one that may wait for ever
NPROC = 2
ON_CUDA = ("device-", "save-ok-example-style-condition")  # what only shows, or is only right, where there are GPUs
MORE_RANKS = {"save-bad-folder-of-the-others": 3, "collective-bad-group-of-members": 3}  # what two ranks alone share

Mark = tuple[str, int, str]  # file in the case, line, rule


@dataclass
class Outcome:
    """What a case showed: ``reason`` where it could not be run, else each rule's marks that were wanted and found."""

    case: str
    reason: str | None = None
    seconds: float = 0.0
    remark: str = ""
    right: list[Mark] = field(default_factory=list)
    unexercised: list[tuple[Mark, str]] = field(default_factory=list)  # with the verdict's message
    missed: list[tuple[Mark, str]] = field(default_factory=list)
    wrong: list[tuple[Mark, str]] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not self.missed and not self.wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases, or beginnings of names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes")
    parser.add_argument("--forked", action="store_true", help="leave out the cases that start their own ranks")
    parser.add_argument("--fake-cuda", action="store_true", help="feign CUDA in every case")
    parser.add_argument("--verbose", action="store_true", help="print the verdicts of every case")
    options = parser.parse_args()
    ranks.preload()
    outcomes = []
    for case in sorted(case for family in FAMILIES for case in CASES.glob(f"{family}-*")):
        if options.cases and not case.name.startswith(tuple(options.cases)):
            continue
        outcome = survey(case, forked=options.forked, fake_cuda=options.fake_cuda, verbose=options.verbose)
        outcomes.append(outcome)
        print(told(outcome), flush=True)
    print(summary(outcomes))
    if options.json is not None:
        content = [{**vars(outcome), "agrees": outcome.agrees} for outcome in outcomes]
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def survey(case: Path, *, forked: bool, fake_cuda: bool, verbose: bool) -> Outcome:
    """Run and judge the case in the folder ``case``."""
    fake_cuda = fake_cuda or case.name.startswith(ON_CUDA)
    about = tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))
    if case.name.startswith(UNSAFE):
        about["run"] = "torchrun"
    if about["run"] == "none":
        return Outcome(case.name, reason="the case says that it cannot be run")
    if about["run"] == "python" and forked:
        return Outcome(case.name, reason="it starts its own ranks (left out)")
    started = time.monotonic()
    with scratch() as top:
        copy = Path(top, case.name)
        shutil.copytree(case, copy)
        if generator := about.get("generate"):
            subprocess.run([sys.executable, generator], cwd=copy, check=True)
        if about["run"] == "torchrun":
            error, seen = run_forked(copy, about, fake_cuda=fake_cuda, verbose=verbose)
        else:
            error, seen = run_launched(copy, about, fake_cuda=fake_cuda)
        found = judges.verdicts(judges.observe(seen), Source(str(copy / about["entry"])))
        executed = {site for event in seen for site in event.get("sites") or ()}
        outcome = compared(case, copy, found, executed)
        outcome.remark = error
        outcome.seconds = time.monotonic() - started
        if error and re.search(r"ModuleNotFoundError|No module named", error):
            outcome.reason = error
        if verbose:
            for verdict in found:
                print(
                    f"    {verdict.rule}: {verdict.state.value} {verdict.site} {verdict.evidence}",
                    f"        {verdict.message}",
                    sep="\n",
                )
        return outcome


def compared(case: Path, copy: Path, found: list[Verdict], executed: set[str]) -> Outcome:
    """The verdicts on the run in ``copy``, beside what the comments in ``case`` ask for.

    A mark on a line that no event tells of (``executed``) could not be found. Of the arms of a test the linter names
    the first, and a run the one that ran.
    """
    source = Source()
    outcome = Outcome(case.name)
    wanted = expected(case)
    marked = {
        (os.path.relpath(file, copy), int(line), verdict.rule): verdict
        for verdict in found
        if verdict.state is State.FOUND
        for file, _, line in [(verdict.site or ":0").rpartition(":")]
    }
    for mark in sorted(wanted):
        place = f"{copy / mark[0]}:{mark[1]}"
        arms = [one for one in marked if one[2] == mark[2] and source.are_arms(place, f"{copy / one[0]}:{one[1]}")]
        if mark in marked or arms:
            outcome.right.append(mark)
            for arm in arms:
                marked.pop(arm)
            continue
        of_rule = [verdict for verdict in found if verdict.rule == mark[2]]
        open_ones = [one for one in of_rule if one.state in (State.NOT_EXERCISED, State.CANNOT_JUDGE)]
        if place not in executed:
            outcome.unexercised.append((mark, "its line did not run"))
        elif open_ones:
            outcome.unexercised.append((mark, f"{open_ones[0].state.value}: {open_ones[0].message}"))
        else:
            outcome.missed.append(
                (mark, "; ".join(f"{one.state.value} at {one.site}: {one.message}" for one in of_rule))
            )
    outcome.wrong = [(mark, verdict.message) for mark, verdict in marked.items() if mark not in wanted]
    return outcome


def expected(case: Path) -> set[Mark]:
    """The marks in the files of ``case`` for the rules that are judged."""
    found = set()
    for file in sorted(case.rglob("*.py")):
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if match := EXPECTED.search(line):
                for rule in re.split(r"\s*,\s*", match[1]):
                    if rule in judges.RULES:
                        found.add((file.relative_to(case).as_posix(), number, rule))
    return found


def run_launched(copy: Path, about: dict[str, Any], *, fake_cuda: bool) -> tuple[str, list[events.Event]]:
    """Run a case that starts its own ranks, as ``watch`` does."""
    before = Path.cwd()
    os.chdir(copy)
    try:
        program = launch.Program(
            about["entry"], tuple(map(str, about.get("args", ()))), NPROC, spawns=True, timeout=120.0
        )
        with contextlib.redirect_stderr(open(os.devnull, "w", encoding="utf-8")):
            ended, seen = watch(program, fake_cuda=fake_cuda)
    finally:
        os.chdir(before)
    return "timed out" if ended.timed_out else ended.error or "", seen


def run_forked(copy: Path, about: dict[str, Any], *, fake_cuda: bool, verbose: bool) -> tuple[str, list[events.Event]]:
    """Run a case on ranks forked from this process, as torchrun would start them."""
    nproc = MORE_RANKS.get(copy.name, NPROC)
    limit = HANGS if copy.name.startswith(UNSAFE) else LIMIT
    with scratch() as top:
        seen, notes = Path(top, "events"), Path(top, "notes")
        seen.mkdir()
        notes.mkdir()
        environment = {
            guard.FOLDER: str(notes),
            guard.DEADLINE: str(time.monotonic() + limit),
            events.EVENTS: str(seen),
            **({events.FAKE_CUDA: "1"} if fake_cuda else {}),
            "WORLD_SIZE": str(nproc),
            "LOCAL_WORLD_SIZE": str(nproc),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "OMP_NUM_THREADS": "1",
            "GROUP_RANK": "0",
            "TORCHELASTIC_RUN_ID": "survey",
        }
        running = {}
        sys.stdout.flush()
        try:
            for rank in range(nproc):
                pid = os.fork()
                if pid == 0:
                    be_rank(copy, about, {**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}, top)
                running[pid] = rank
            error = wait(running, time.monotonic() + limit)
        finally:
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        texts = [path.read_text() for path in notes.glob("crash-*.json")]
        crashes = [json.loads(text) for text in texts if text]  # empty where its rank was ended as it wrote
        crashes.sort(key=lambda crash: ("Connection" in crash["text"], crash["time"]))
        if crashes:
            error = f"{crashes[0]['type']}: {crashes[0]['text'][:300]}"
        if verbose:
            for output in sorted(Path(top).glob("output-*")):
                print(f"    {output.name}: {output.read_text(errors='replace')[-1500:]}")
        return error, [*events.read(seen), *([events.time_up()] if error == "timed out" else [])]


def be_rank(copy: Path, about: dict[str, Any], environment: dict[str, str], top: str) -> None:
    """Be a rank: what sitecustomize and torchrun do, then the case; leave without torch's exit."""
    status = 1
    try:
        os.setsid()
        output = os.open(os.path.join(top, f"output-{environment['RANK']}"), os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(environment)
        os.chdir(copy)
        import torch

        torch.set_num_threads(1)
        torch.seed()  # as in a process of its own
        random.seed()
        np.random.seed()
        guard.arm()
        from ddplint.harness.watch import probe

        probe.arm()
        probe.patching.leave_to_python(torch._dynamo.eval_frame)
        probe._observe(torch)
        sys.argv = [about["entry"], *map(str, about.get("args", ()))]
        sys.path[0] = str((copy / about["entry"]).parent)
        runpy.run_path(about["entry"], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:  # noqa: BLE001  # whatever it is, it must not run on in the parent's code
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(status)


def wait(running: dict[int, int], deadline: float) -> str:
    """Wait for the ranks; a line about the first that failed."""
    error = ""
    while running and time.monotonic() < deadline:
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                rank = running.pop(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # its workers
                if status:
                    error = error or f"rank {rank} ended with {status}"
                    deadline = min(deadline, time.monotonic() + 5.0)
        time.sleep(0.01)
    return error or ("timed out" if running else "")


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """A temporary folder; a ``TemporaryDirectory`` of this process would be removed when a forked rank exits."""
    top = tempfile.mkdtemp(prefix="survey-")
    try:
        yield os.path.realpath(top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def explained(outcome: Outcome) -> str | None:
    """Why a case disagrees, where that is known."""
    if outcome.wrong and all(message.startswith(SAME_ROWS) for _, message in outcome.wrong) and not outcome.missed:
        return "no DataLoader, and rows drawn alike on every rank: so it is, and the linter's rule is about loaders"
    return EXPLAINED.get(outcome.case)


def told(outcome: Outcome) -> str:
    """Lines about a case."""
    if outcome.reason:
        return f"---  {outcome.case}: {outcome.reason}"
    head = f"{'ok ' if outcome.agrees else 'NOT'}  {outcome.case} ({outcome.seconds:.1f} s)"
    lines = [head + (f" [{outcome.remark}]" if outcome.remark else "")]
    for word, marks in (("open", outcome.unexercised), ("missed", outcome.missed), ("wrong", outcome.wrong)):
        lines += [f"       {word} {file}:{line} {rule} | {text}" for (file, line, rule), text in marks]
    if not outcome.agrees:
        lines.append(f"       why: {explained(outcome) or 'not known'}")
    return "\n".join(lines)


def summary(outcomes: list[Outcome]) -> str:
    """The agreement over all cases that ran."""
    ran = [outcome for outcome in outcomes if not outcome.reason]
    agree = sum(outcome.agrees for outcome in ran)
    counts: Counter[str] = Counter()
    for outcome in ran:
        for word in ("right", "unexercised", "missed", "wrong"):
            counts[word] += len(getattr(outcome, word))
    share = 100 * agree / max(len(ran), 1)
    marks = ", ".join(f"{word} {count}" for word, count in counts.items())
    known = sum(not outcome.agrees and explained(outcome) is not None for outcome in ran)
    marks += f"; of the disagreements {known} of {len(ran) - agree} are explained"
    return f"{agree} of {len(ran)} cases agree ({share:.1f} %); {len(outcomes) - len(ran)} not run; marks: {marks}"


if __name__ == "__main__":
    main()
