"""Run each rule's mistake and its cure, and show in numbers what goes wrong and that the cure ends it.

==============  ========================================================================================================
``sources``     the programs, as a user writes them
``proofs``      which there are, and how one is added
``evidence``    the numbers that show each mistake
``trial``       tries one program: the linter's findings, a run on several ranks, a replay by one process
``program``     a program as text
``observe``     notes from outside what a program does (imports torch; runs on forked ranks only)
``seen``        what was noted
``report``      the sections that are printed, and the JSON
==============  ========================================================================================================
"""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness import ranks, show
from ddplint.harness.options import require_writable
from ddplint.harness.prove import report
from ddplint.harness.prove.proofs import LEFT_OUT, PROOFS, Proof, select
from ddplint.harness.prove.trial import Trial, attempt
from ddplint.harness.statuses import Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

_SOURCES = Path(__file__).with_name("sources")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add this command's options to ``parser``."""
    names = ", ".join(proof.name for proof in PROOFS)
    without = ", ".join(LEFT_OUT)
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="RULE",
        help=f"a symbol, an id, or one of {names} (default: all of these; {without} cannot be shown without a GPU)",
    )
    parser.add_argument("--nproc", type=int, choices=(2, 4), default=2, help="processes (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file, too")
    parser.add_argument(
        "--sources",
        type=Path,
        default=_SOURCES,
        metavar="DIR",
        help="the folder of RULE_mistake.py and RULE_cure.py (default: that of the package)",
    )


def run(options: argparse.Namespace) -> Status:
    """Prove the chosen rules; the status is ``FOUND`` where one of them is not shown."""
    started = time.monotonic()
    chosen = [(proof, _programs(proof, options.sources)) for proof in select(options.rules)]
    if options.json is not None:
        require_writable(options.json)
    show.progress("importing torch")
    ranks.preload()
    importlib.import_module("ddplint.harness.prove.observe")  # once, not on each rank
    outcomes = []
    for proof, programs in chosen:
        outcomes.append(report.Outcome(proof, list(_trials(proof, programs, options.nproc))))
        report.section(outcomes[-1], options.nproc)
    seconds = time.monotonic() - started
    report.summary(outcomes, options.nproc, seconds)
    if options.json is not None:
        content = report.as_json(outcomes, options.nproc, seconds)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return Status.FINE if all(outcome.shown for outcome in outcomes) else Status.FOUND


def _programs(proof: Proof, folder: Path) -> list[tuple[str, Path, Path]]:
    """The programs of ``proof``: of which kind, where, and with which other one it is compared."""
    mistakes, cures = proof.sources(folder, "mistake"), proof.sources(folder, "cure")
    return [
        *(("mistake", mistake, cures[0]) for mistake in mistakes),
        *(("cure", cure, mistakes[0]) for cure in cures),
    ]


def _trials(proof: Proof, programs: Sequence[tuple[str, Path, Path]], nproc: int) -> Iterator[Trial]:
    try:
        for kind, source, counterpart in programs:
            show.progress(f"running {source.name}")
            yield attempt(proof, kind, source, counterpart, nproc)
    finally:
        show.progress("")
