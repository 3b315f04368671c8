"""ddplint's CPU time and peak memory next to those of other tools, in one interleaved run.

``python tests/benchmarks/bench.py [--rounds N] [--files N] [--tree DIR ...]``

What a run costs where nothing concerns DDP, for one file and for trees (``--tree`` adds real ones); what the plugin
adds to a pylint run that lints anyway; how the work grows with the files of one program; and what it costs to check a
file again in an editor. Beside a ratio stands its goal.

Machines are noisy and differ: only the ratios within one run mean something.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ddplint.session import Session

CASES = Path(__file__).parents[2] / "testdata" / "cases"
ONE_FILE = CASES / "device-bad-double-and-wrap"  # 60 lines

PYLINT = [sys.executable, "-m", "pylint", "--recursive=y"]
DDPLINT, RUFF = "ddplint", "ruff F401"
GROWTH = (10, 100, 1000)
EDITED = (1, 10, 100, 300)

PLAIN = '''\
"""Module {number} of a library that has nothing to do with training."""

import json
import math


class Shape{number}:
    """Something with an area."""

    def __init__(self, width, height):
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height

    def diagonal(self):
        return math.sqrt(self.width**2 + self.height**2)

    def as_json(self):
        return json.dumps({{"width": self.width, "height": self.height}})
'''


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    cpu: float
    memory: float


def measure(command: list[str], cwd: Path) -> Cost:
    """CPU milliseconds and peak MiB of ``command``, its own children included in the first."""
    # As installed packages are: compiled once.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    null = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=cwd, stdout=null, stderr=null, env=env) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024)


def tools(path: str) -> dict[str, list[str]]:
    """The commands to compare, those installed."""
    python = sys.executable
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import pylint.lint": [python, "-c", "import pylint.lint"],
        DDPLINT: [str(Path(python).with_name("ddplint")), path],
        "pylint, cheapest message": [*PYLINT, "--disable=all", "--enable=eval-used", path],
    }
    if ruff := shutil.which("ruff", path=os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])):
        commands[RUFF] = [ruff, "check", "--no-cache", "--isolated", "--select=F401", path]
    if importlib.util.find_spec("torchfix"):
        commands["torchfix"] = [python, "-m", "torchfix", path]
    return commands


@dataclass(frozen=True)
class Input:
    """A folder to lint. ``goals``: how many times another tool's time ddplint may take at most."""

    name: str
    folder: Path
    goals: dict[str, float]
    is_tree: bool = False


def lay_out(folder: Path, files: int, trees: list[Path]) -> list[Input]:
    """The folders to lint."""
    nothing, one, tree = (folder / name for name in ("nothing", "one", "tree"))
    for root in (nothing, one, tree):
        (root / ".git").mkdir(parents=True)
    for number in range(5):
        (nothing / f"shapes_{number}.py").write_text(PLAIN.format(number=number) * 3)
    shutil.copytree(ONE_FILE, one, dirs_exist_ok=True)
    for number in range(files):
        package = tree / f"package_{number % 40}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / f"shapes_{number}.py").write_text(PLAIN.format(number=number) * 8)
    cases = sorted(path for path in CASES.iterdir() if "-bad-" in path.name)
    for case in cases[: max(1, files // 50)]:
        shutil.copytree(case, tree / case.name.replace("-", "_"))
    return [
        Input("nothing concerns DDP", nothing, {"python -c pass": 2.0}),
        Input("one DDP file", one, {"import pylint.lint": 2.0}),
        Input(f"a generated tree of {files} files", tree, _goals(files), is_tree=True),
        *(Input(str(path), path, _goals(len(list(path.rglob("*.py")))), is_tree=True) for path in trees),
    ]


def _goals(files: int) -> dict[str, float]:
    return {RUFF: 1.0} if files >= 1000 else {RUFF: 10.0, "torchfix": 1 / 60}


def one_program(folder: Path, files: int) -> Path:
    """A training script whose model, data and helpers are spread over many modules that it all calls."""
    (folder / ".git").mkdir(parents=True)
    shutil.copytree(ONE_FILE, folder, dirs_exist_ok=True)
    script = next(folder.glob("*.py"))
    modules = [f"part_{number}" for number in range(files - 1)]
    for number, name in enumerate(modules):
        (folder / f"{name}.py").write_text(
            PLAIN.format(number=number) + f"\n\ndef made():\n    return Shape{number}(1, 2).area()\n"
        )
    imports = "".join(f"import {name}\n" for name in modules)
    calls = "".join(f"print({name}.made())\n" for name in modules)
    script.write_text(imports + script.read_text() + calls)
    return folder


def report(entry: Input, costs: dict[str, list[Cost]]) -> None:
    medians = {tool: statistics.median(cost.cpu for cost in runs) for tool, runs in costs.items()}
    print(f"\n{entry.name}\n{'':28}{'CPU ms':>10}{'ddplint is':>14}{'goal':>10}{'peak MiB':>10}")
    for tool, cpu in sorted(medians.items(), key=lambda item: item[1]):
        memory = max(cost.memory for cost in costs[tool])
        ratio = f"{medians[DDPLINT] / cpu:.3g} x"
        goal = f"{entry.goals[tool]:.2g} x" if tool in entry.goals else ""
        print(f"{tool:28}{cpu:10.0f}{ratio:>14}{goal:>10}{memory:10.0f}")


def report_plugin(folder: Path, rounds: int) -> None:
    """What the plugin adds to a run of pylint with its usual messages."""
    costs: dict[str, list[Cost]] = defaultdict(list)
    for _ in range(rounds):
        for name, options in {"without": [], "with": ["--load-plugins=ddplint"]}.items():
            costs[name].append(measure([*PYLINT, *options, "."], folder))
    alone, both = (statistics.median(cost.cpu for cost in costs[name]) for name in ("without", "with"))
    print(f"\npylint as it is {alone:.0f} ms, with the plugin {both:.0f} ms: {both / alone:.3f} x (goal 1.05 x)")


def report_growth(folder: Path) -> None:
    """How the work for one program grows with its files."""
    print(f"\none program of{'CPU ms':>20}{'ms per file':>14}{'peak MiB':>10}")
    command = [str(Path(sys.executable).with_name("ddplint")), "."]
    for files in GROWTH:
        cost = measure(command, one_program(folder / str(files), files))
        print(f"{files:8} files{cost.cpu:20.0f}{cost.cpu / files:14.2f}{cost.memory:10.0f}")


def report_edits(folder: Path, rounds: int) -> None:
    """What a change of one file's text costs in an editor, next to a run of the command over that file."""
    print(f"\none file checked{'command ms':>14}{'again ms':>10}{'again is':>12}{'goal':>10}")
    for files in EDITED:
        program = one_program(folder / str(files), files)
        script = next(path for path in sorted(program.glob("*.py")) if not path.name.startswith("part_"))
        command = [str(Path(sys.executable).with_name("ddplint")), str(script)]
        text = script.read_text()
        session = Session(str(program), print)
        session.messages(str(script), {str(script): text})
        cold, again = [], []
        for number in range(rounds):
            cold.append(measure(command, program).cpu)
            start = time.process_time()
            found = session.messages(str(script), {str(script): text + f"# edit {number}\n"})
            again.append((time.process_time() - start) * 1000)
            assert found
        once, more = statistics.median(cold), statistics.median(again)
        print(f"of {files:4} files  {once:14.0f}{more:10.1f}{f'{more / once:.3f} x':>12}{'0.15 x':>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--tree", type=Path, action="append", default=[], help="a real tree to lint too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        entries = lay_out(Path(name), args.files, args.tree)
        for entry in entries:
            costs: dict[str, list[Cost]] = defaultdict(list)
            for _ in range(min(args.rounds, 3) if entry.is_tree else args.rounds):
                for tool, command in tools(".").items():
                    costs[tool].append(measure(command, entry.folder))
            report(entry, costs)
        report_plugin(entries[1].folder, args.rounds)
        report_growth(Path(name) / "growth")
        report_edits(Path(name) / "edits", args.rounds)


if __name__ == "__main__":
    main()
