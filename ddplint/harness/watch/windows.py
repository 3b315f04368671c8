"""What happened to a wrapper between two steps of the optimizers that hold it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank


@dataclass
class Pair:
    """A backward and the forwards of the wrapper, with gradients on, whose graph it may have gone through."""

    backward: Event
    forwards: list[Event]
    syncs: int
    silences: list[Event]
    """The ``no_sync`` blocks that it happened in."""
    is_late: bool
    """Whether reduces were held back at the backward, and not yet at the forward, which decides."""


@dataclass
class Window:
    """The forward-and-backward pairs of a wrapper for one optimizer step."""

    step: Event
    pairs: list[Pair] = field(default_factory=list)

    @property
    def syncs(self) -> int:
        """How often the wrapper's gradients were reduced."""
        return sum(pair.syncs for pair in self.pairs)


def windows(rank: Rank, model: int) -> Iterator[Window]:
    """The windows of a rank for one wrapper, in order; backwards after the last step are in none."""
    pairs: list[Pair] = []
    forwards: list[Event] = []
    silences: list[Event] = []
    syncs = 0
    for event in rank.of("forward", "backward_begun", "backward", "sync", "step", "no_sync", "no_sync_end"):
        kind = event["ev"]
        if kind == "step":
            if model in (event.get("models") or ()):
                yield Window(event, pairs)
                pairs, forwards, syncs = [], [], 0
        elif kind == "backward_begun":
            if model in (event.get("fresh") or ()):
                pairs = []  # what they gave was thrown away: they were about the gradients of something else
        elif kind == "backward":
            # Reduces are told when they are done, which is before the backward's own end.
            if forwards or syncs:
                held = model in (event.get("held") or ())
                is_late = held and any(forward.get("sync") for forward in forwards)
                pairs.append(Pair(event, forwards, syncs, list(silences), is_late))
                forwards, syncs = [], 0
        elif event.get("model") != model:
            continue
        elif kind == "forward" and event.get("grad"):
            forwards.append(event)
        elif kind == "sync":
            syncs += 1
        elif kind == "no_sync":
            silences.append(event)
        elif kind == "no_sync_end" and silences:
            silences.pop()
