"""The proofs there are.

To add one: write its programs, ``sources/NAME_mistake.py`` and ``sources/NAME_cure.py`` (and more of either kind, as
``NAME_mistake_OTHER.py``), and a function in ``evidence`` that tells them apart; then enter it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddplint.harness.prove import evidence
from ddplint.harness.statuses import HarnessError
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ddplint.harness.prove.evidence import Measure
    from ddplint.harness.prove.seen import Run
    from ddplint.rules import Rule


@dataclass(frozen=True)
class Proof:
    """How a rule is proved: ``evidence`` measures a run of one of its programs.

    ``strays`` where the mistake ends with other parameters than one process that is given the ranks' batches;
    other mistakes spoil what is trained on, or cost time. ``hangs`` where it ends with ranks that wait in vain, for as
    long as the program's group lets them. ``late`` are the seconds after which a file that is there is written to.
    ``note`` tells the reader how the programs are run, where it is not as they stand.
    """

    name: str
    symbol: str
    evidence: Callable[[Run], list[Measure]]
    strays: bool = False
    hangs: bool = False
    late: float = 0.0
    note: str = ""

    @property
    def rule(self) -> Rule:
        """The rule that is proved."""
        return BY_SYMBOL[self.symbol]

    def sources(self, folder: Path, kind: str) -> list[Path]:
        """The programs in ``folder`` of one kind, ``mistake`` or ``cure``; raises ``HarnessError`` if there is none."""
        first = folder / f"{self.name}_{kind}.py"
        if not first.is_file():
            raise HarnessError(f"{first}: no such file")
        return [first, *sorted(folder.glob(f"{self.name}_{kind}_*.py"))]


_LATE = 0.5
_SLOW = f"as on a slow disk, rank 0 begins to write over the file {_LATE:g} s late"
_PATIENCE = "a call waits 3 s for other ranks; without timeout= gloo waits for half an hour"

PROOFS = (
    Proof("sampler", "ddp-missing-distributed-sampler", evidence.sampler),
    Proof("epoch", "ddp-missing-set-epoch", evidence.epoch),
    Proof("wrapper", "ddp-wrapper-state-dict", evidence.wrapper),
    Proof("save", "ddp-unguarded-save", evidence.save),
    Proof("device", "ddp-wrap-before-move", evidence.device, strays=True),
    Proof("accum", "ddp-wasted-gradient-sync", evidence.accum),
    Proof("drift", "ddp-unsynchronized-step", evidence.drift, strays=True),
    Proof("bypass", "ddp-bypassed-wrapper", evidence.bypass, strays=True),
    Proof("collective", "ddp-rank-guarded-collective", evidence.collective, hangs=True, note=_PATIENCE),
    Proof("split", "ddp-rank-dependent-split", evidence.split),
    Proof("exit", "ddp-rank-local-exit", evidence.exit_, hangs=True, note=_PATIENCE),
    Proof("race", "ddp-load-before-barrier", evidence.race, strays=True, late=_LATE, note=_SLOW),
    Proof("noautograd", "ddp-collective-in-loss", evidence.noautograd, strays=True),
)

LEFT_OUT = {
    "ddp-load-without-map-location": "it costs memory of a GPU, and all processes here run on the CPU",
}
"""The rules that are not proved, by symbol, and why."""


def select(names: Iterable[str]) -> list[Proof]:
    """The proofs of the rules with these names, ids or symbols; all if there are none.

    Raises ``HarnessError`` for a name that is none of them.
    """
    left_out = {name.lower(): symbol for symbol in LEFT_OUT for name in (symbol, BY_SYMBOL[symbol].id)}
    known = {name.lower(): proof for proof in PROOFS for name in (proof.name, proof.symbol, proof.rule.id)}
    chosen = set()
    for name in names:
        if symbol := left_out.get(name.lower()):
            raise HarnessError(f"{symbol} cannot be shown: {LEFT_OUT[symbol]}")
        if name.lower() not in known:
            symbols = ", ".join(proof.symbol for proof in PROOFS)
            raise HarnessError(f"no rule {name!r} that can be proved; there are: {symbols}")
        chosen.add(known[name.lower()])
    return [proof for proof in PROOFS if not chosen or proof in chosen]
