"""What is measured, rank by rank, and the rows of the scaling table that are made of it. Pure data and functions."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddplint.harness.scale.figures import Interval, median_interval, ratio_interval, variation

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = "data wait"
FORWARD = "forward"
BACKWARD = "backward and sync"
OPTIMIZER = "optimizer"
REST = "backward, sync, optimizer"  # of a script, in which only the data wait and the forward are told apart

AS_IS = "as is"
LOST = 0.02  # of its time: a window in which a simulated device lost more tells nothing
WARM_UP = 5  # steps that are left out: the wrapper rebuilds its buckets after the first, memory and caches settle


@dataclass(frozen=True)
class Window:
    """A stretch of steady steps on one rank.

    ``size`` is the number of ranks that took part, ``variant`` what was changed, ``number`` tells apart the windows of
    one size and variant. ``seconds`` is the wall time, ``cpu`` the process's time on a processor, ``phases`` the
    seconds of each part of a step, summed over ``steps``, ``loaded`` whether a loader was seen in them.
    ``lost`` are the seconds by which a simulated device waited for a process that got no processor.
    """

    size: int
    rank: int
    number: int
    steps: int
    samples: int
    seconds: float
    cpu: float
    phases: dict[str, float]
    variant: str = AS_IS
    loaded: bool = True
    lost: float = 0.0

    @property
    def lost_share(self) -> float:
        """The share of its time that was lost."""
        return self.lost / self.seconds


@dataclass(frozen=True)
class Row:
    """A row of the table: what ``size`` processes delivered.

    ``throughput`` is in samples per second, ``efficiency`` is the share of ``size`` times the throughput of one,
    ``data_share`` the share of a step spent waiting for data, ``phases`` the milliseconds of a step's parts (means over
    the ranks), ``spread`` the coefficient of variation over the windows, ``cpu_share`` processor over wall time,
    ``batch`` the samples a process takes in a step, ``loaded`` whether a loader was seen that could be waited for,
    ``lost_share`` the share of the time that simulated devices lost to a busy machine.
    """

    size: int
    throughput: Interval
    efficiency: Interval
    data_share: Interval
    phases: dict[str, float]
    spread: float
    cpu_share: float
    batch: float
    loaded: bool = True
    lost_share: float = 0.0


def choose(windows: Sequence[Window], size: int, variant: str = AS_IS) -> list[list[Window]]:
    """The windows of ``size`` ranks and ``variant``: for each number the list of its ranks."""
    chosen = defaultdict(list)
    for window in windows:
        if window.size == size and window.variant == variant:
            chosen[window.number].append(window)
    return [chosen[number] for number in sorted(chosen)]


def undisturbed(windows: Sequence[Window]) -> list[Window]:
    """``windows`` without those in which a simulated device stood still, unless there are no others of their kind."""
    by_kind: dict[tuple[int, str], dict[int, list[Window]]] = defaultdict(lambda: defaultdict(list))
    for window in windows:
        by_kind[window.size, window.variant][window.number].append(window)
    kept = []
    for groups in by_kind.values():
        sound = [ranks for ranks in groups.values() if all(rank.lost_share <= LOST for rank in ranks)]
        kept += [window for ranks in sound or groups.values() for window in ranks]
    return kept


def throughputs(windows: Sequence[Window], size: int, variant: str = AS_IS) -> list[float]:
    """The samples per second of each window: those of all ranks over the time of the slowest."""
    return [
        sum(window.samples for window in ranks) / max(window.seconds for window in ranks)
        for ranks in choose(windows, size, variant)
    ]


def step_seconds(windows: Sequence[Window], size: int, variant: str = AS_IS) -> list[float]:
    """The seconds a step takes on each rank, by rank: the median over the windows."""
    times = defaultdict(list)
    for ranks in choose(windows, size, variant):
        for window in ranks:
            times[window.rank].append(window.seconds / window.steps)
    return [statistics.median(times[rank]) for rank in sorted(times)]


def efficiency(windows: Sequence[Window], size: int, variant: str = AS_IS, against: str = AS_IS) -> Interval:
    """The throughput of ``size`` ranks over ``size`` times that of one; the one is measured as ``against``."""
    return ratio_interval(throughputs(windows, size, variant), throughputs(windows, 1, against), size)


def rows(windows: Sequence[Window], sizes: Sequence[int]) -> list[Row]:
    """The table's rows, by size; each of ``sizes``, among them 1, has windows."""
    return [_row(windows, size) for size in sizes]


def _row(windows: Sequence[Window], size: int) -> Row:
    groups = choose(windows, size)
    every = [window for ranks in groups for window in ranks]
    measured = throughputs(windows, size)
    shares = [
        sum(window.phases[DATA] for window in ranks) / sum(window.seconds for window in ranks) for ranks in groups
    ]
    steps = sum(window.steps for window in every)
    phases = {name: 1e3 * sum(window.phases[name] for window in every) / steps for name in every[0].phases}
    return Row(
        size=size,
        throughput=median_interval(measured),
        efficiency=efficiency(windows, size) if size > 1 else Interval(1.0, 1.0, 1.0),
        data_share=median_interval(shares),
        phases=phases,
        spread=variation(measured),
        cpu_share=sum(window.cpu for window in every) / sum(window.seconds for window in every),
        batch=sum(window.samples for window in every) / steps,
        loaded=any(window.loaded for window in every),
        lost_share=max(window.lost_share for window in every),
    )
