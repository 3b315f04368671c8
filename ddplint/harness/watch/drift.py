"""Whether the ranks' parameters were still the same after each optimizer step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddplint.harness.watch.observed import Place, Rank, Run


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
    by_place: dict[Place, list[list[str | None]]] = defaultdict(list)
    for rank in run.ranks:
        for model in rank.made("wrap"):
            place = rank.place("wrap", model)
            if place is not None:
                by_place[place].append(_digests(rank, model))
    found = []
    for (stack, _), digests in by_place.items():
        for step, taken in enumerate(zip(*digests, strict=False)):
            if None not in taken and len(set(taken)) > 1:
                found.append(Drift(stack[0] if stack else "a place out of sight", step))
                break
    return found


def _digests(rank: Rank, model: int) -> list[str | None]:
    """The model's digest after each step of an optimizer that holds it, None where it was not taken."""
    return [
        (event.get("digest") or {}).get(str(model)) for event in rank.of("step") if model in (event.get("models") or ())
    ]
