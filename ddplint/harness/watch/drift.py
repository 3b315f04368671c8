"""Whether the ranks' parameters were still the same after each optimizer step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddplint.harness.watch.observed import Place, Rank, Run

_Moment = tuple[int, int]
"""How often the gradients were reduced before a step, and how many steps there were since.

All ranks take part in each reduction, and so it tells which of their steps correspond: under ``join()`` a rank that is
out of data makes no step where others do.
"""
_Taken = tuple[int, "str | None"]
"""The number of a step, from 0, and the digest after it, None where none was taken."""


@dataclass(frozen=True)
class Drift:
    """That a wrapper's parameters differed between ranks, from optimizer step ``step`` (from 0) on."""

    model: str
    step: int

    def __str__(self) -> str:
        """The note for the report."""
        return f"the parameters of the model wrapped at {self.model} differ between the ranks from step {self.step} on"


def drifts(run: Run) -> list[Drift]:
    """The wrappers whose parameters drifted apart, as the digests taken after the steps tell."""
    by_place: dict[Place, list[dict[_Moment, _Taken]]] = defaultdict(list)
    for rank in run.ranks:
        for model in rank.made("wrap"):
            place = rank.place("wrap", model)
            if place is not None:
                by_place[place].append(_digests(rank, model))
    found = []
    for (stack, _), digests in by_place.items():
        for moment, (step, _) in digests[0].items():
            taken = [its[moment][1] for its in digests if moment in its]
            if None not in taken and len(set(taken)) > 1:
                found.append(Drift(stack[0] if stack else "a place out of sight", step))
                break
    return found


def _digests(rank: Rank, model: int) -> dict[_Moment, _Taken]:
    """The model's digest after each step of an optimizer that holds it."""
    found: dict[_Moment, _Taken] = {}
    syncs = since = 0
    for event in rank.of("sync", "step"):
        if event["ev"] == "sync":
            if event.get("model") == model:
                syncs, since = syncs + 1, 0
        elif model in (event.get("models") or ()):
            found[syncs, since] = len(found), (event.get("digest") or {}).get(str(model))
            since += 1
    return found
