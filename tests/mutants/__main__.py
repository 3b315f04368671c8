"""``python -m tests.mutants --count 10000``: try many mutants, and keep those that are judged otherwise."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random

from . import OPERATORS, Mutant, names


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the first mutant; each next one counts up")
    parser.add_argument("--steps", type=int, default=6, help="the most changes of one mutant")
    parser.add_argument("--only", default="", help="a part of the names of the cases that are changed")
    parser.add_argument("--keep", type=Path, help="the folder for the files of mutants that are judged otherwise")
    options = parser.parse_args()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="mutants-"))
    cases = [name for name in names() if options.only in name]
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        mutant = random_mutant(Random(seed), cases, options.steps)
        folder = keep.resolve() / str(seed)
        if mutant.disagreement(folder) is None:
            continue
        wrong += 1
        mutant = mutant.simplest(folder)
        found = mutant.disagreement(folder)
        print(f"{folder}: {mutant.case} after {', '.join(name for name, _ in mutant.steps)}")
        for path, line, column, symbol in sorted(found.missed.elements()) if found else ():
            print(f"  missed {path}:{line}:{column} {symbol}")
        for path, line, column, symbol in sorted(found.extra.elements()) if found else ():
            print(f"  extra  {path}:{line}:{column} {symbol}")
        sys.stdout.flush()
    print(f"{options.count} mutants, {wrong} judged otherwise")
    return int(wrong > 0)


def random_mutant(random: Random, cases: list[str], most: int) -> Mutant:
    """Any case with up to ``most`` changes."""
    operators = sorted(OPERATORS)
    steps = [(random.choice(operators), random.randrange(1 << 32)) for _ in range(random.randint(1, most))]
    return Mutant(random.choice(cases), tuple(steps))


if __name__ == "__main__":
    sys.exit(main())
