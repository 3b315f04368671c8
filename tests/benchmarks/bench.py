"""ddplint's CPU time and peak memory next to those of other tools, in one interleaved run.

``python tests/benchmarks/bench.py [--rounds N] [--files N]``

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
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[2] / "testdata" / "cases"
ONE_FILE = CASES / "device-bad-double-and-wrap"  # 60 lines

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
        "ddplint": [str(Path(python).with_name("ddplint")), path],
        "pylint, cheapest message": [
            python,
            "-m",
            "pylint",
            "--disable=all",
            "--enable=eval-used",
            "--recursive=y",
            path,
        ],
    }
    if ruff := shutil.which("ruff", path=os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])):
        commands["ruff F401"] = [ruff, "check", "--no-cache", "--isolated", "--select=F401", path]
    if importlib.util.find_spec("torchfix"):
        commands["torchfix"] = [python, "-m", "torchfix", path]
    return commands


def lay_out(folder: Path, files: int) -> dict[str, Path]:
    """The three inputs, by name."""
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
    return {"nothing concerns DDP": nothing, "one DDP file": one, f"a tree of {files} files": tree}


def report(name: str, costs: dict[str, list[Cost]]) -> None:
    medians = {tool: statistics.median(cost.cpu for cost in runs) for tool, runs in costs.items()}
    print(f"\n{name}\n{'':28}{'CPU ms':>10}{'ddplint is':>14}{'peak MiB':>10}")
    for tool, cpu in sorted(medians.items(), key=lambda item: item[1]):
        memory = max(cost.memory for cost in costs[tool])
        ratio = f"{medians['ddplint'] / cpu:.2f} x"
        print(f"{tool:28}{cpu:10.0f}{ratio:>14}{memory:10.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for title, folder in lay_out(Path(name), args.files).items():
            costs: dict[str, list[Cost]] = defaultdict(list)
            rounds = args.rounds if "tree" not in title else min(args.rounds, 3)
            for _ in range(rounds):
                for tool, command in tools(".").items():
                    costs[tool].append(measure(command, folder))
            report(title, costs)


if __name__ == "__main__":
    main()
