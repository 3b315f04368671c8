"""Names the first cause of lost throughput, each told by one controlled change. Pure functions.

The order matters. Ranks that wait for data also wait for each other, so a slow loader shows in the reduction, and
``no_sync`` seems to cure it: the network would be blamed. What comes first is to be ruled out first.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddplint.harness.scale.faults import BATCH, INTERCONNECT, LOADER, STRAGGLER
from ddplint.harness.scale.measuring import CACHED, DOUBLED, UNSYNCED
from ddplint.harness.scale.windows import efficiency, step_seconds, throughputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.harness.scale.windows import Window

_POINTS = 0.10  # of efficiency, that a change has to give back
_DOUBLED = 1.4  # times the samples/s at twice the batch: 2 where all costs are fixed, 1 where none is
_SLOWEST = 1.2  # times the step of the median rank


@dataclass(frozen=True)
class Reading:
    """What one controlled change showed; ``found`` says whether it tells the cause."""

    cause: str
    change: str
    measured: str
    limit: str
    found: bool
    advice: str


@dataclass(frozen=True)
class Trials:
    """The figures that the changes gave.

    Efficiencies are those of ``size`` ranks, as it is, with one batch kept (on one rank too), and without reduction;
    ``doubled`` is samples/s of one rank at twice the batch over those at the batch; ``steps`` are the seconds a step
    takes on each rank while none waits for another.
    """

    size: int
    as_is: float
    cached: float
    unsynced: float
    doubled: float
    steps: tuple[float, ...]


def trials(windows: Sequence[Window], size: int) -> Trials:
    """The figures in ``windows``, which hold the changes on ``size`` ranks."""
    return Trials(
        size=size,
        as_is=efficiency(windows, size).value,
        cached=efficiency(windows, size, CACHED, against=CACHED).value,
        unsynced=efficiency(windows, size, UNSYNCED).value,
        doubled=statistics.median(throughputs(windows, 1, DOUBLED)) / statistics.median(throughputs(windows, 1)),
        steps=tuple(step_seconds(windows, size, UNSYNCED)),
    )


def readings(tried: Trials) -> list[Reading]:
    """What each change showed, in the order in which the causes are looked for."""
    slowest = max(tried.steps)
    rank = tried.steps.index(slowest)
    ratio = slowest / statistics.median_low(tried.steps)
    back = f"{100 * _POINTS:.0f} points more"
    return [
        Reading(
            LOADER,
            "every rank trains on one kept batch",
            f"efficiency at {tried.size}: {tried.as_is:.1%} to {tried.cached:.1%}",
            back,
            tried.cached - tried.as_is > _POINTS,
            "The ranks wait for data they share a way to: give each its own workers, copy or cache.",
        ),
        Reading(
            BATCH,
            "one process, batch doubled",
            f"samples/s: times {tried.doubled:.2f}",
            f"times {_DOUBLED:.2f}",
            tried.doubled > _DOUBLED,
            "A step costs nearly the same whatever its batch: a larger batch on each device is nearly free.",
        ),
        Reading(
            INTERCONNECT,
            "no gradients reduced (no_sync)",
            f"efficiency at {tried.size}: {tried.as_is:.1%} to {tried.unsynced:.1%}",
            back,
            tried.unsynced - tried.as_is > _POINTS,
            "Reducing gradients takes the time: reduce less often (no_sync, accumulation), or less (bfloat16 hook).",
        ),
        Reading(
            STRAGGLER,
            "no rank waits for another (no_sync)",
            f"rank {rank}'s step: times {ratio:.2f} of the median rank's",
            f"times {_SLOWEST:.2f}",
            ratio > _SLOWEST,
            f"All ranks wait for rank {rank}: look at its device, and at what only it does.",
        ),
    ]


def first(found: Sequence[Reading]) -> Reading | None:
    """The first reading that tells a cause."""
    return next((reading for reading in found if reading.found), None)
