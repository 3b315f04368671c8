"""On which gradients the optimizers of a wrapper stepped, and whether those had been averaged over the ranks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Place, Rank, Run


@dataclass
class Forward:
    """A forward of the wrapper with gradients on, and the innermost ``no_sync`` block that it ran in."""

    event: Event
    silence: Event | None

    @property
    def prepares(self) -> bool:
        """Whether it prepared the averaging of the next backward."""
        return bool(self.event.get("sync"))


@dataclass
class Contribution:
    """A backward that changed gradients of the wrapper, and what came before it since the one before.

    ``inner`` are the calls of the wrapped module past the wrapper.
    """

    backward: Event
    forwards: list[Forward]
    inner: list[Event]
    is_averaged: bool


@dataclass
class Step:
    """A step of an optimizer that holds the wrapper, on the gradients of ``contributions`` since the step before."""

    event: Event
    contributions: list[Contribution] = field(default_factory=list)

    @property
    def last(self) -> Contribution | None:
        """The one that decides: a reduce averages all that has been accumulated. None in an optimizer's closure."""
        last = self.contributions[-1] if self.contributions else None
        return None if last is None or last.backward.get("stepping") else last


@dataclass(frozen=True)
class Unaveraged:
    """A step on gradients that the wrapper did not average and that differed between the ranks."""

    rank: int
    step: Step
    last: Contribution

    @property
    def is_second(self) -> bool:
        """Whether the backward went through the graph of a forward that another backward had gone through before."""
        return not self.last.forwards and any(one.forwards for one in self.step.contributions)

    @property
    def bypasses(self) -> bool:
        """Whether the loss came from the wrapped module, with no forward of the wrapper."""
        return not self.last.forwards and (bool(self.last.inner) or not self.is_second)


def steps(rank: Rank, model: int) -> Iterator[Step]:
    """The steps of a rank for one wrapper, in order."""
    contributions: list[Contribution] = []
    forwards: list[Forward] = []
    inner: list[Event] = []
    silences: list[Event] = []
    syncs = 0
    for event in rank.of("forward", "inner", "backward", "sync", "step", "no_sync", "no_sync_end"):
        kind = event["ev"]
        if kind == "step":
            if model in (event.get("models") or ()):
                yield Step(event, contributions)
                contributions = []
        elif kind == "backward":
            if syncs or model in (event.get("reached") or ()):
                contributions.append(Contribution(event, forwards, inner, is_averaged=syncs > 0))
                forwards, inner, syncs = [], [], 0
        elif event.get("model") != model:
            continue
        elif kind == "forward" and event.get("grad"):
            forwards.append(Forward(event, silences[-1] if silences else None))
        elif kind == "inner":
            inner.append(event)
        elif kind == "sync":
            syncs += 1
        elif kind == "no_sync":
            silences.append(event)
        elif kind == "no_sync_end" and silences:
            silences.pop()


def unaveraged(run: Run) -> dict[Place, list[Unaveraged]]:
    """By wrapper, the steps whose gradients were not averaged and differed; wrappers that never step are left out.

    A wrapper that was moved or cast after it was made is left out: that alone ends all averaging. Gradients that are
    equal on all ranks were averaged by the program itself, or need not be.
    """
    stepped: dict[Place, dict[int, list[Step]]] = defaultdict(dict)
    for rank in run.ranks:
        moved = {event.get("model") for event in rank.of("move") if event.get("reset")}
        for model in rank.made("wrap"):
            place = rank.place("wrap", model)
            found = [step for step in steps(rank, model) if step.last is not None]
            if place is not None and found and model not in moved:
                stepped[place][rank.number] = found
    return {place: list(_differing(run, place, by_rank)) for place, by_rank in stepped.items()}


def _differing(run: Run, place: Place, by_rank: dict[int, list[Step]]) -> Iterator[Unaveraged]:
    numbers = {
        rank.number: model
        for rank in run.ranks
        for model in rank.made("wrap")
        if rank.place("wrap", model) == place
    }  # fmt: skip
    together = [{rank: found[at] for rank, found in by_rank.items()} for at in range(min(map(len, by_rank.values())))]
    if any(
        _differ(before, numbers, "digest") and _differ(after, numbers, "start") is False
        for before, after in pairwise(together)
    ):
        return  # the program averages the parameters itself, after the steps
    for ranks in together:
        if _differ(ranks, numbers, "gradients"):
            for rank, step in ranks.items():
                if step.last is not None and not step.last.is_averaged:
                    yield Unaveraged(rank, step, step.last)


def _differ(steps: dict[int, Step], numbers: dict[int, int], what: str) -> bool | None:
    """Whether the digests of that name differ between the ranks' steps; None where one was not taken."""
    digests = {(step.event.get(what) or {}).get(str(numbers[rank])) for rank, step in steps.items()}
    return None if None in digests or len(steps) < 2 else len(digests) > 1
