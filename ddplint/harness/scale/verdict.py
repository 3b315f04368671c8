"""Whether the rows allow a verdict, and which of them to look at. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.scale.windows import LOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddplint.harness.scale.windows import Row

GOOD = 0.9  # an efficiency from which on there is nothing to look at
_SPREAD = 0.1
_WIDTH = 0.1
_STARVED = 0.9
_SPARE = 0.25  # cores; the machine's own upkeep, and ours
_WAITS = 0.2


def refusals(rows: Sequence[Row], *, cores: int | None, others: float, computes: bool) -> list[str]:
    """Why no verdict can be given on ``rows``; empty where one can.

    ``cores`` are those of a machine whose speed is measured, of which other processes kept ``others`` busy; None where
    time is simulated. ``computes`` says that one rank alone never waits, so that it has to have had a core to itself.
    """
    reasons = []
    most = rows[-1].size
    if cores is not None:
        if most > cores:
            reasons.append(f"{most} processes shared {cores} {_cores(cores)}")
        if others > _SPARE and most > cores - others + _SPARE:
            reasons.append(f"other processes kept {others:.1f} of {cores} {_cores(cores)} busy")
        if computes and rows[0].cpu_share < _STARVED:
            reasons.append(f"one process alone got a core for only {rows[0].cpu_share:.0%} of the time it needed one")
    for row in rows:
        if row.lost_share > LOST:
            reasons.append(
                f"it was too busy to simulate {row.size} devices: they stood still {row.lost_share:.0%} of a window"
            )
        if row.spread > _SPREAD:
            reasons.append(f"samples/s of {row.size} varied by {row.spread:.0%} from window to window")
        if row.efficiency.width > _WIDTH:
            low, high = row.efficiency.low, row.efficiency.high
            reasons.append(f"the efficiency at {row.size} can be anything from {low:.0%} to {high:.0%}")
    return reasons


def look_here(rows: Sequence[Row]) -> Row | None:
    """The row with the lowest efficiency, where that is below ``GOOD``."""
    lowest = min(rows, key=lambda row: row.efficiency.value)
    return lowest if lowest.efficiency.value < GOOD else None


def slow_loader(rows: Sequence[Row]) -> str | None:
    """What the efficiency does not show: a loader that one process alone waits for already; None where it does not."""
    share = rows[0].data_share.value
    if share < _WAITS:
        return None
    return (
        f"One process alone spends {share:.0%} of each step waiting for data. The efficiency does not show that: "
        "the loader is as slow on every rank."
    )


def uneven(rows: Sequence[Row]) -> str | None:
    """That a process trains on other batches at other sizes, so that the rows compare different work."""
    first = rows[0]
    other = next((row for row in rows if abs(row.batch - first.batch) > 0.01 * first.batch), None)
    if other is None:
        return None
    return (
        f"A process takes {first.batch:g} samples a step alone and {other.batch:g} among {other.size}: "
        "the efficiency compares different work. Keep the batch of a process the same at every size."
    )


def _cores(number: int) -> str:
    return "core" if number == 1 else "cores"
