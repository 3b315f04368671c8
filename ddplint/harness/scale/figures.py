"""What is made of measured numbers: medians, spreads and 95 % intervals. Pure functions."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.high - self.low


def median_interval(values: Sequence[float]) -> Interval:
    """The median of ``values`` with its bootstrap interval."""
    return _bootstrap(lambda drawn: statistics.median(drawn[0]), values)


def ratio_interval(above: Sequence[float], below: Sequence[float], factor: float = 1.0) -> Interval:
    """The median of ``above`` over ``factor`` times that of ``below``, with its bootstrap interval."""

    def ratio(drawn: Sequence[Sequence[float]]) -> float:
        return statistics.median(drawn[0]) / (factor * statistics.median(drawn[1]))

    return _bootstrap(ratio, above, below)


def variation(values: Sequence[float]) -> float:
    """The coefficient of variation of ``values``: their standard deviation over their mean; 0 for a single one."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0


def _bootstrap(figure: Callable[[Sequence[Sequence[float]]], float], *samples: Sequence[float]) -> Interval:
    """``figure`` of ``samples`` and where it falls when they are drawn again; seeded, so that it repeats."""
    draw = random.Random(0)  # noqa: S311  # nothing is secret here
    figures = sorted(figure([draw.choices(values, k=len(values)) for values in samples]) for _ in range(_DRAWS))
    return Interval(figure(samples), figures[_DRAWS * 25 // 1000], figures[_DRAWS * 975 // 1000 - 1])
