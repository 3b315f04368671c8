"""What ``prove`` prints, and what it writes for machines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ddplint.harness import show
from ddplint.harness.prove.proofs import LEFT_OUT, PROOFS
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddplint.harness.prove.evidence import Measure
    from ddplint.harness.prove.proofs import Proof
    from ddplint.harness.prove.trial import Trial


@dataclass(frozen=True)
class Outcome:
    """A proof and how its programs came out, the mistakes first."""

    proof: Proof
    trials: Sequence[Trial]

    @property
    def shown(self) -> bool:
        """Whether every mistake was seen, every cure ended it, and the linter said the same."""
        return not any(trial.faults for trial in self.trials)


def section(outcome: Outcome, nproc: int) -> None:
    """Print the section of one rule."""
    rule, trials = outcome.proof.rule, outcome.trials
    show.heading(f"{rule.symbol} ({rule.id}, {outcome.proof.name})")
    for trial in trials:
        print(f"  {trial.kind}: {trial.name}.py")
        for number, line in trial.lines.items():
            print(f"    {number:3}  {line}")
    print(f"  ({outcome.proof.note})\n" if outcome.proof.note else "")
    columns = [f"measured on {nproc} ranks", *(trial.name.removeprefix(f"{outcome.proof.name}_") for trial in trials)]
    show.table(columns, list(_rows(trials)), numeric=range(1, len(columns)))
    for trial in trials:
        for fault in trial.faults:
            print(f"{trial.name}: {fault}")
    verdict = "shown: seen in the mistake, gone in the cure" if outcome.shown else "NOT SHOWN"
    print(verdict, end="\n\n", flush=True)


def summary(outcomes: Sequence[Outcome], nproc: int, seconds: float) -> None:
    """Print how many rules were proved."""
    shown = sum(outcome.shown for outcome in outcomes)
    rules = "rule" if len(outcomes) == 1 else "rules"
    print(f"{shown} of {len(outcomes)} {rules} shown on {nproc} ranks in {seconds:.1f} s")
    if len(outcomes) == len(PROOFS):
        for symbol, why in LEFT_OUT.items():
            print(f"{symbol} ({BY_SYMBOL[symbol].id}) is not among them: {why}")


def as_json(outcomes: Sequence[Outcome], nproc: int, seconds: float) -> dict[str, Any]:
    """The same for machines."""
    rules = [
        {
            "rule": outcome.proof.symbol,
            "id": outcome.proof.rule.id,
            "name": outcome.proof.name,
            "note": outcome.proof.note,
            "shown": outcome.shown,
            "programs": [_program(trial) for trial in outcome.trials],
        }
        for outcome in outcomes
    ]
    shown = all(outcome.shown for outcome in outcomes)
    left_out = [{"rule": symbol, "id": BY_SYMBOL[symbol].id, "why": why} for symbol, why in LEFT_OUT.items()]
    return {
        "version": 1,
        "nproc": nproc,
        "seconds": round(seconds, 3),
        "shown": shown,
        "rules": rules,
        "left_out": left_out,
    }


def _program(trial: Trial) -> dict[str, Any]:
    return {
        "source": f"{trial.name}.py",
        "kind": trial.kind,
        "lines": list(trial.lines),
        "findings": [{"line": line, "symbol": symbol} for line, symbol in trial.findings],
        "measures": [asdict(measure) for measure in trial.measures],
        "apart_from_one_process": trial.apart,
        "faults": trial.faults,
    }


def _rows(trials: Sequence[Trial]) -> Iterator[list[str]]:
    """The table: a row for each measure that some program has, one for the linter, one for the replay."""
    labels = dict.fromkeys(measure.label for trial in trials for measure in trial.measures)
    for label in labels:
        found = [{measure.label: _text(measure) for measure in trial.measures} for trial in trials]
        yield [label, *(texts.get(label, "-") for texts in found)]
    apart = ["-" if trial.apart is None else f"{trial.apart:.1e}" for trial in trials]
    yield ["difference from one process on the same batches", *apart]
    yield ["reported by the linter", *(_findings(trial) for trial in trials)]


def _text(measure: Measure) -> str:
    value = measure.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1e}" if value else "0"
    return f"{value}" if measure.of is None else f"{value} of {measure.of}"


def _findings(trial: Trial) -> str:
    return ", ".join(f"line {line}" for line, _ in trial.findings) or "nothing"
