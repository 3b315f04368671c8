"""One program tried: read by the linter, run on several ranks, and replayed by one process."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness import ranks, scratch
from ddplint.harness.prove.program import Program
from ddplint.harness.prove.seen import Run, Seen, difference, joined

if TYPE_CHECKING:
    from ddplint.harness.prove.evidence import Measure
    from ddplint.harness.prove.program import Place
    from ddplint.harness.prove.proofs import Proof

SAME = 1e-6  # parameters that differ by less were trained alike
OTHER = 1e-3  # and those that differ by more were not


@dataclass
class Trial:
    """What came out for one program, a ``mistake`` or a ``cure``.

    ``lines`` are those to show, by number. ``apart`` is the largest difference between a parameter of a rank and that
    of one process trained on the batches of all ranks; None where it came to none. ``faults`` say what was not as a
    proof needs it.
    """

    name: str
    kind: str
    lines: dict[int, str]
    findings: list[Place]
    measures: list[Measure] = field(default_factory=list)
    apart: float | None = None
    faults: list[str] = field(default_factory=list)


def attempt(proof: Proof, kind: str, source: Path, counterpart: Path, nproc: int) -> Trial:
    """Try the program ``source`` of ``proof`` on ``nproc`` ranks; ``counterpart`` is what it is compared with."""
    with scratch.folder() as folder:
        program, other = _alone(source, folder / "program"), _alone(counterpart, folder / "counterpart")
        trial = Trial(source.stem, kind, program.lines_to_show(other), program.findings())
        _agree(trial, program.marks, proof)
        try:
            run = _run(program, folder / "run", nproc, proof)
            waiting = {seen.waited for seen in run.ranks if seen.waited is not None}
            trial.lines = program.lines_to_show(other, *waiting)
            if not waiting:
                run.alone = _replay(program, folder / "replay", run.ranks)
        except ranks.RankError as error:
            trial.faults.append(f"it failed: {error}")
            return trial
    trial.measures = proof.evidence(run)
    if run.alone is not None:
        trial.apart = max(difference(seen.parameters, run.alone.parameters) for seen in run.ranks)
    _judge(trial, proof)
    return trial


def _alone(source: Path, folder: Path) -> Program:
    """The program ``source`` where nothing of the repository it comes from is near."""
    (folder / ".git").mkdir(parents=True)
    return Program(Path(shutil.copy(source, folder)))


def _run(program: Program, folder: Path, nproc: int, proof: Proof) -> Run:
    from ddplint.harness.prove.observe import observed

    folder.mkdir()
    seen = ranks.run(
        lambda rank, world: observed(program.path, folder, rank, world, proof.late),
        nproc,
        folder.with_suffix(".ranks"),
        join=False,
    )
    waiting = [
        f"rank {rank} waited in vain in line {one.waited}" for rank, one in enumerate(seen) if one.waited is not None
    ]
    if waiting and not proof.hangs:
        raise ranks.RankError(waiting[0])
    return Run(seen)


def _replay(program: Program, folder: Path, seen: list[Seen]) -> Seen:
    from ddplint.harness.prove.observe import replayed

    folder.mkdir()
    try:
        passes = joined(seen)
    except ValueError:
        raise ranks.RankError("its ranks had different numbers of batches") from None
    results = folder.with_suffix(".ranks")
    [alone] = ranks.run(lambda _rank, _world: replayed(program.path, folder, passes), 1, results, join=False)
    return alone


def _agree(trial: Trial, marks: list[Place], proof: Proof) -> None:
    """Note where the linter and the program's marks differ."""
    if {symbol for _, symbol in marks} != ({proof.symbol} if trial.kind == "mistake" else set()):
        trial.faults.append(
            f"it has to be marked with {proof.symbol} alone" if trial.kind == "mistake" else "it is marked"
        )
    trial.faults += [
        f"the linter does not report {symbol} in line {line}"
        for line, symbol in marks
        if (line, symbol) not in trial.findings
    ]
    trial.faults += [
        f"the linter reports {symbol} in line {line}" for line, symbol in trial.findings if (line, symbol) not in marks
    ]


def _judge(trial: Trial, proof: Proof) -> None:
    """Note what the numbers do not show."""
    judged = [measure for measure in trial.measures if measure.wrong is not None]
    if not judged:
        trial.faults.append("nothing was measured")
    for measure in judged:
        if measure.wrong != (trial.kind == "mistake"):
            trial.faults.append(f"{'still' if measure.wrong else 'not'} shown: {measure.label}")
    if trial.apart is None:
        return
    if trial.kind == "cure" and not trial.apart < SAME:
        trial.faults.append(f"one process ends with other parameters: {trial.apart:.1e} apart")
    if trial.kind == "mistake" and proof.strays and not trial.apart > OTHER:
        trial.faults.append(f"one process ends with the same parameters: {trial.apart:.1e} apart")
