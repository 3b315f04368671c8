"""Compares a measurement with an earlier one that was saved."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddplint.harness.scale.figures import Interval
from ddplint.harness.scale.report import SCHEMA
from ddplint.harness.statuses import HarnessError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ddplint.harness.scale.windows import Row

# Windows of one launch differ by less than launches do: the difference of medians of equal programs, over five runs.
_SLACK = 0.03
_FIGURES = ("throughput", "efficiency", "data_share")


@dataclass(frozen=True)
class Figures:
    """The figures of one size that are compared."""

    throughput: Interval
    efficiency: Interval
    data_share: Interval


@dataclass(frozen=True)
class Baseline:
    """An earlier measurement; ``facts`` are those that have to be equal for a comparison."""

    path: str
    facts: dict[str, Any]
    torch: str
    figures: dict[int, Figures]


def read(path: Path) -> Baseline:
    """The measurement saved in ``path``. Raises ``HarnessError`` where there is none that can be compared with."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise HarnessError(f"{path}: not a saved measurement") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise HarnessError(f"{path}: not a measurement saved by this version ({SCHEMA})")
    try:
        facts = {name: document[name] for name in ("device", "script", "cores", "sizes")}
        figures = {row["size"]: Figures(*(_interval(row[name]) for name in _FIGURES)) for row in document["rows"]}
        refused, torch = document["refused"], document["torch"]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise HarnessError(f"{path}: a part of the saved measurement is missing or is no figure") from error
    if list(figures) != facts["sizes"]:
        raise HarnessError(f"{path}: the saved measurement has other rows than sizes")
    if refused:
        raise HarnessError(f"{path}: no verdict was given on that measurement, so nothing is compared with it")
    return Baseline(str(path), facts, torch, figures)


def require_equal(baseline: Baseline, facts: dict[str, Any]) -> None:
    """Raise ``HarnessError`` where ``facts`` about this run make it incomparable."""
    for name, value in facts.items():
        if baseline.facts[name] != value:
            raise HarnessError(
                f"{baseline.path}: cannot be compared, it has {name} {baseline.facts[name]} and this run has {value}"
            )


def drops(baseline: Baseline, rows: Sequence[Row]) -> list[str]:
    """What became worse beyond the intervals of both measurements, a sentence each."""
    found = []
    for row in rows:
        before = baseline.figures[row.size]
        if _below(row.throughput, before.throughput, _SLACK * before.throughput.value):
            found.append(
                f"samples/s at {row.size} fell from {before.throughput.value:.1f} to {row.throughput.value:.1f}"
            )
        if _below(row.efficiency, before.efficiency, _SLACK):
            found.append(
                f"efficiency at {row.size} fell from {before.efficiency.value:.1%} to {row.efficiency.value:.1%}"
            )
        if _below(before.data_share, row.data_share, _SLACK):
            found.append(
                f"data wait at {row.size} rose from {before.data_share.value:.1%} to {row.data_share.value:.1%}"
            )
    return found


def _interval(saved: dict[str, Any]) -> Interval:
    """The interval ``saved``. Raises ``ValueError`` and others where it is none."""
    ends = [float(saved[end]) for end in ("value", "low", "high")]
    if not all(map(math.isfinite, ends)):  # nothing is below it, so nothing would ever fail
        raise ValueError(saved)
    return Interval(*ends)


def _below(one: Interval, other: Interval, slack: float) -> bool:
    """Whether ``one`` lies wholly below ``other``, by more than ``slack``."""
    return one.high < other.low and one.value < other.value - slack
