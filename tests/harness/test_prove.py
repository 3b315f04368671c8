"""``ddplint-run prove``: each rule's mistake and cure, on forked ranks."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import warm
from conftest import ddplint, found, run

import ddplint as package
from ddplint.pages import page
from ddplint.rules import RULES as ALL_RULES

if TYPE_CHECKING:
    from conftest import Process

PROVE = [sys.executable, "-m", "ddplint.harness", "prove"]
SOURCES = Path(package.__file__).parent / "harness" / "prove" / "sources"
RULES = {
    "sampler": "ddp-missing-distributed-sampler",
    "epoch": "ddp-missing-set-epoch",
    "wrapper": "ddp-wrapper-state-dict",
    "save": "ddp-unguarded-save",
    "device": "ddp-wrap-before-move",
    "accum": "ddp-wasted-gradient-sync",
    "drift": "ddp-unsynchronized-step",
    "bypass": "ddp-bypassed-wrapper",
    "collective": "ddp-rank-guarded-collective",
    "split": "ddp-rank-dependent-split",
    "exit": "ddp-rank-local-exit",
    "race": "ddp-load-before-barrier",
    "noautograd": "ddp-collective-in-loss",
}
LEFT_OUT = "ddp-load-without-map-location"
# What the mistakes and the cures of a rule measure on so many ranks; numbers of a race are looked at by themselves.
MEASURED = {
    "sampler": lambda ranks: ({"shared": 64, "share": 64}, {"shared": 0, "share": 64 // ranks}),
    "epoch": lambda ranks: ({"same_order": ranks, "same_share": ranks}, {"same_order": 0, "same_share": 0}),
    "wrapper": lambda _: (
        {"prefixed": 4, "refused": True, "changed": 0},
        {"prefixed": 0, "refused": False, "changed": 4},
    ),
    "save": lambda ranks: ({"writers": ranks}, {"writers": 1, "broken": 0, "unreadable": 0}),
    "device": lambda _: ({"averaged": 0}, {"averaged": 32, "apart": 0}),
    "accum": lambda _: ({"syncs": 4}, {"syncs": 1}),
    "drift": lambda ranks: ({"own": 8 // ranks}, {"own": 0, "apart": 0}),
    "bypass": lambda ranks: ({"averaged": 0, "own": 32 // ranks}, {"averaged": 32, "own": 0, "apart": 0}),
    "collective": lambda ranks: ({"mixed": ranks, "waited": 1, "line": 41}, {"mixed": 0, "waited": 0}),
    "split": lambda _: ({}, {"shared": 0, "spoilt": 0}),
    "exit": lambda ranks: ({"waited": ranks - 1, "line": 34}, {"waited": 0}),
    "race": lambda ranks: ({"stale": ranks - 1}, {"stale": 0, "apart": 0}),
    "noautograd": lambda ranks: ({"size": 100 // ranks}, {"size": 100, "warned": 0}),
}
COUNT = {"accum": (2, 1), "save": (1, 2), "drift": (2, 1)}  # of mistakes and cures, where it is not one of each
STRAY = {"device", "drift", "bypass", "race", "noautograd"}  # mistakes that end with other parameters than one process
WAIT = {"collective", "exit"}  # and those that end with ranks that wait, and come to no such comparison


def prove(folder: Path, *arguments: str) -> tuple[Process, dict[str, dict[str, Any]]]:
    """Run the command in ``folder``; returns it, and what it wrote of each rule, by name."""
    return proofs(start(folder, *arguments), folder)


def start(folder: Path, *arguments: str) -> warm.Job:
    return warm.Job(["prove", "--json=proofs.json", *arguments], folder)


def proofs(job: warm.Job, folder: Path) -> tuple[Process, dict[str, dict[str, Any]]]:
    """What came of a command that was started in ``folder``."""
    process, file = job.result(), folder / "proofs.json"
    rules = json.loads(file.read_text(encoding="utf-8"))["rules"] if file.exists() else []
    return process, {rule["name"]: rule for rule in rules}


def programs(rule: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [program for program in rule["programs"] if program["kind"] == kind]


# The proofs


@pytest.fixture(
    scope="module", params=[pytest.param(2, id="2-ranks"), pytest.param(4, id="4-ranks", marks=pytest.mark.long)]
)
def proved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Process, Any]:
    """A run over all rules: the number of ranks, the process, and the rules by name."""
    ranks: int = request.param
    if ranks == 4:
        folder, job, _, _ = request.getfixturevalue("side_by_side")
    else:
        folder = tmp_path_factory.mktemp("proved")
        job = start(folder, "--nproc=2")
    process, rules = proofs(job, folder)
    assert [path.name for path in folder.iterdir()] == ["proofs.json"]
    return ranks, process, rules


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, warm.Job, Path, warm.Job]:
    """Two commands that wait for seconds, on four ranks and over sources that were tampered with, and their folders."""
    proved, tampered = tmp_path_factory.mktemp("proved"), tmp_path_factory.mktemp("tampered")
    sources = tamper(tampered)
    names = dict.fromkeys(name for name, _ in FAULTS)
    return proved, start(proved, "--nproc=4"), tampered, start(tampered, f"--sources={sources}", *names)


def test_all_rules_are_shown(proved: tuple[int, Process, Any]) -> None:
    ranks, process, rules = proved
    assert (process.returncode, process.stderr) == (0, "")
    assert {name: rule["rule"] for name, rule in rules.items()} == RULES
    assert {*RULES.values(), LEFT_OUT} == {rule.symbol for rule in ALL_RULES}
    shown = rf"{len(RULES)} of {len(RULES)} rules shown on {ranks} ranks in [\d.]+ s"
    assert re.search(rf"^{shown}\n{LEFT_OUT} \(W7118\) is not among them: ", process.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", RULES)
def test_the_mistake_shows_in_numbers_and_the_cure_ends_it(proved: tuple[int, Process, Any], name: str) -> None:
    ranks, _, rules = proved
    mistakes, cures = programs(rules[name], "mistake"), programs(rules[name], "cure")
    assert (len(mistakes), len(cures)) == COUNT.get(name, (1, 1))
    of_mistake, of_cure = MEASURED[name](ranks)
    for wanted, wrong, some in ((of_mistake, True, mistakes), (of_cure, False, cures)):
        for program in some:
            measured = {measure["name"]: measure["value"] for measure in program["measures"]}
            assert {key: measured[key] for key in wanted} == wanted
            assert {measure["wrong"] for measure in program["measures"]} in ({wrong}, {wrong, None})
            assert program["faults"] == []
    assert rules[name]["shown"] is True


def test_ranks_that_write_one_path_break_files(proved: tuple[int, Process, Any]) -> None:
    ranks, process, rules = proved
    [broken] = (m for m in programs(rules["save"], "mistake")[0]["measures"] if m["name"] == "broken")
    assert broken["value"] > 0
    assert broken["of"] == 20 * ranks
    assert f"{broken['value']} of {broken['of']}" in process.stdout


@pytest.mark.parametrize("name", RULES)
def test_one_process_on_the_same_batches_ends_with_the_same_parameters(
    proved: tuple[int, Process, Any], name: str
) -> None:
    _, _, rules = proved
    for program in rules[name]["programs"]:
        apart, mistake = program["apart_from_one_process"], program["kind"] == "mistake"
        if mistake and name in WAIT:
            assert apart is None
        else:
            assert apart > 1e-3 if mistake and name in STRAY else apart < 1e-6


def test_the_pages_have_the_figures(proved: tuple[int, Process, Any]) -> None:
    ranks, process, _ = proved
    printed = [figures(line, ranks) for line in process.stdout.splitlines()]
    quoted = [line for rule in RULES.values() for line in page(rule).sections["Proof"].splitlines()]
    rows = [line for line in quoted if re.search(r"\S  +\S", line) and not line.startswith("files that")]  # a race
    assert len(rows) > 50
    assert [row for row in rows if figures(row, ranks) not in printed] == []


def figures(line: str, ranks: int) -> str:
    """The ``line`` without the numbers that depend on the machine, or on the number of ``ranks`` if that is not 2."""
    return " ".join(re.sub(r"\d\.\de-\d\d" if ranks == 2 else r"\b\d[\d.e-]*\b", "N", line).split())


# The sources


def test_the_linter_reports_what_the_sources_are_marked_with(tmp_path: Path) -> None:
    marked = set()
    for source in SOURCES.glob("*_*.py"):
        if source.name.startswith("__"):
            continue
        alone = tmp_path / source.stem
        (alone / ".git").mkdir(parents=True)
        shutil.copy(source, alone)
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            if mark := re.search(r"# \[(.*)\]$", line):
                marked.add((f"{source.stem}/{source.name}", number, mark[1]))
    assert {symbol for _, _, symbol in marked} == set(RULES.values())
    enabled = [f"--enable={symbol}" for symbol in RULES.values()]
    assert found(ddplint("--output-format=json2", *enabled, ".", cwd=tmp_path)) == marked


@pytest.mark.long
def test_a_source_runs_by_itself_under_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    run([*torchrun, str(SOURCES / "wrapper_mistake.py")], tmp_path)
    assert b"module.0.weight" in (tmp_path / "checkpoint.pt").read_bytes()


# Tampered with


@pytest.fixture(scope="module")
def tampered(side_by_side: tuple[Path, warm.Job, Path, warm.Job]) -> tuple[Process, Any]:
    """A run over sources that were tampered with."""
    _, _, folder, job = side_by_side
    return proofs(job, folder)


def tamper(folder: Path) -> Path:
    """Sources in ``folder``, one of each rule's with a fault."""
    sources = Path(shutil.copytree(SOURCES, folder / "sources", ignore=shutil.ignore_patterns("__*")))

    def change(name: str, old: str, new: str) -> None:
        path = sources / f"{name}.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    change("sampler_mistake", "  # [ddp-missing-distributed-sampler]", "")
    change(
        "sampler_mistake",
        "DistributedDataParallel(network)",
        "DistributedDataParallel(network)  # [ddp-missing-distributed-sampler]",
    )
    change("epoch_cure", "        sampler.set_epoch(epoch)\n", "        sampler.set_epoch(0)\n")
    change("wrapper_mistake", "model.state_dict()", "model.module.state_dict()")
    change("save_cure", '"gloo")', '"gloo", timeout=__import__("datetime").timedelta(seconds=2))')
    change("save_cure", "    dist.destroy", "    if rank == 0:\n        dist.barrier()\n    dist.destroy")
    change("device_cure", "    network.double()\n", "    raise ValueError('not\\ntoday')\n")
    change("accum_cure", "(model(inputs), targets)", "(model(inputs + 0.01 * dist.get_rank()), targets)")
    change("drift_mistake", "if number % 4 == 0 else", "if last else")
    change("bypass_mistake", "model.module(inputs)", "model(inputs)")
    change(
        "collective_cure",
        "    dist.all_reduce(total)\n",
        "    if dist.get_rank() == 0:\n        dist.all_reduce(total)\n",
    )
    change("split_mistake", "[48, 16])", "[48, 16], torch.Generator().manual_seed(0))")
    change("exit_mistake", "        if total[0]", "        dist.all_reduce(total)\n        if total[0]")
    change("race_cure", "    dist.barrier()\n", "")
    change("noautograd_mistake", "loss / dist.get_world_size()", "loss")
    return sources


FAULTS = {
    ("sampler", "mistake"): [
        "the linter does not report ddp-missing-distributed-sampler in line 22",
        "the linter reports ddp-missing-distributed-sampler in line 19",
    ],
    ("epoch", "cure"): [
        "the linter reports ddp-missing-set-epoch in line 19",
        "still shown: ranks that got the same order in two epochs",
        "still shown: ranks that got the same samples in two epochs",
    ],
    ("wrapper", "mistake"): [
        "the linter does not report ddp-wrapper-state-dict in line 34",
        "not shown: keys that begin with 'module.'",
        "not shown: load_state_dict of the plain model refuses them",
        "not shown: weights that strict=False loads, without an error",
    ],
    ("save", "cure"): [
        "the linter reports ddp-rank-guarded-collective in line 40",
        "it failed: rank N waited in vain in line 40",
    ],
    ("device", "cure"): ["it failed: rank N: ValueError: not"],
    ("accum", "cure"): ["one process ends with other parameters: N apart"],
    ("drift", "mistake"): [
        "the linter does not report ddp-unsynchronized-step in line 32",
        "not shown: optimizer steps for which ranks had different gradients",
        "not shown: difference between the parameters of ranks",
        "one process ends with the same parameters: N apart",
    ],
    ("bypass", "mistake"): [
        "the linter does not report ddp-bypassed-wrapper in line 30",
        "not shown: optimizer steps with averaged gradients",
        "not shown: optimizer steps for which ranks had different gradients",
        "not shown: difference between the parameters of ranks",
        "one process ends with the same parameters: N apart",
    ],
    ("collective", "cure"): [
        "the linter reports ddp-rank-guarded-collective in line 39",
        "still shown: sums that hold what another line's call gave",
        "still shown: ranks that waited in vain",
    ],
    ("split", "mistake"): [
        "the linter does not report ddp-rank-dependent-split in line 19",
        "not shown: samples of one pass that several ranks got",
        "not shown: samples held back for validation that were trained on",
    ],
    ("exit", "mistake"): [
        "the linter does not report ddp-rank-local-exit in line 39",
        "not shown: batches of the rank that left first",
        "not shown: ranks that waited in vain",
    ],
    ("race", "cure"): [
        "the linter reports ddp-load-before-barrier in line 36",
        "still shown: ranks that read something else than the writer",
        "still shown: difference between the parameters of ranks",
        "one process ends with other parameters: N apart",
    ],
    ("noautograd", "mistake"): [
        "the linter does not report ddp-collective-in-loss in line 31",
        "not shown: first gradient, in percent of that of one process",
        "one process ends with the same parameters: N apart",
    ],
}


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), FAULTS)
def test_what_does_not_show_it_is_told(tampered: tuple[Process, Any], name: str, kind: str) -> None:
    process, rules = tampered
    assert rules[name]["shown"] is False
    [faulty] = (program for program in rules[name]["programs"] if program["faults"])
    assert faulty["kind"] == kind
    assert [
        re.sub(r"rank \d|\d\.\de-\d\d", lambda m: "rank N" if "rank" in m[0] else "N", f) for f in faulty["faults"]
    ] == FAULTS[name, kind]
    for fault in faulty["faults"]:
        assert f"{name}_{kind}: {fault}\n" in process.stdout


@pytest.mark.long
def test_the_status_says_that_something_was_not_shown(tampered: tuple[Process, Any]) -> None:
    process, _ = tampered
    assert process.returncode == 1
    assert f"0 of {len(FAULTS)} rules shown" in process.stdout
    assert "Traceback" not in process.stdout + process.stderr


# Use


def test_rules_are_chosen_by_name_id_and_symbol(tmp_path: Path) -> None:
    process, rules = prove(tmp_path, "accum", "W7103", "ddp-missing-set-epoch", "epoch")
    assert list(rules) == ["epoch", "wrapper", "accum"]
    assert "3 of 3 rules shown" in process.stdout
    assert LEFT_OUT not in process.stdout
    written = json.loads((tmp_path / "proofs.json").read_text(encoding="utf-8"))
    assert [one["rule"] for one in written["left_out"]] == [LEFT_OUT]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["sampler", "nothing"], f"no rule 'nothing' that can be proved; there are: {', '.join(RULES.values())}"),
        ([LEFT_OUT], f"{LEFT_OUT} cannot be shown: it costs memory of a GPU, and all processes here run on the CPU"),
        (
            ["sampler", "w7118"],
            f"{LEFT_OUT} cannot be shown: it costs memory of a GPU, and all processes here run on the CPU",
        ),
        (["--sources=empty"], "empty/sampler_mistake.py: no such file"),
        (["--json=missing/proofs.json"], "missing: no such folder"),
    ],
)
def test_wrong_use_is_told_in_a_line(tmp_path: Path, arguments: list[str], text: str) -> None:
    process = run([*PROVE, *arguments], tmp_path)
    assert (process.returncode, process.stdout, process.stderr) == (2, "", f"ddplint-run: {text}\n")


SLEEPER = """\
import os, time
from pathlib import Path
Path("{folder}", f"pid-{{os.environ['RANK']}}").write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_no_rank_outlives_the_command(tmp_path: Path, number: signal.Signals) -> None:
    sources, temporary = tmp_path / "sources", tmp_path / "temporary"
    sources.mkdir()
    temporary.mkdir()
    (sources / "sampler_mistake.py").write_text(SLEEPER.format(folder=tmp_path))
    (sources / "sampler_cure.py").write_text("")
    command = warm.Job(["prove", "sampler", f"--sources={sources}"], tmp_path, TMPDIR=str(temporary))
    pids = [int(waited_for(tmp_path / f"pid-{rank}")) for rank in range(2)]
    assert list(temporary.glob("ddplint-*")) != []
    os.kill(command.pid, number)
    process = command.result()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    if number is signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert (process.returncode, process.stderr) == (130, "ddplint-run: interrupted\n")
    until(lambda: not list(temporary.glob("ddplint-*")))


def waited_for(path: Path) -> str:
    until(lambda: path.exists() and path.read_text() != "")
    return path.read_text()


def until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
