"""A measurement and what is concluded from it: printed, and written as JSON, which a later run can compare with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ddplint.harness import show
from ddplint.harness.scale import causes, verdict
from ddplint.harness.scale.faults import LOADER, SIM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ddplint.harness.scale.windows import Row

SCHEMA = "ddplint-scale-1"


@dataclass(frozen=True)
class Report:
    """What was measured (``rows``), on what, and why no verdict can be given (``refused``, empty where one can).

    ``readings`` is None where no causes were asked for.
    """

    device: str
    script: tuple[str, ...]
    injected: str | None
    cores: int
    threads: int
    torch: str
    rows: Sequence[Row]
    refused: Sequence[str]
    readings: Sequence[causes.Reading] | None

    @property
    def sizes(self) -> list[int]:
        """The numbers of processes measured."""
        return [row.size for row in self.rows]

    @property
    def cause(self) -> causes.Reading | None:
        """The first cause; None where there is none, none was looked for, or nothing can be concluded."""
        return None if self.refused or self.readings is None else causes.first(self.readings)


def write(report: Report, path: Path) -> None:
    """Write ``report`` as JSON, all of it."""
    document: dict[str, Any] = {"schema": SCHEMA, "sizes": report.sizes, **asdict(report)}
    document["cause"] = report.cause and report.cause.cause
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def show_report(report: Report) -> None:
    """Print the table, the verdict or why there is none, and the causes that were looked for."""
    print(heading(report))
    look = None if report.refused else verdict.look_here(report.rows)
    columns = ("devices", "samples/s", "ideal", "efficiency", "95% interval", "data wait", "")
    alone = report.rows[0].throughput.value
    lines = []
    for row in report.rows:
        low, high = 100 * row.efficiency.low, 100 * row.efficiency.high
        lines.append(
            (
                str(row.size),
                f"{row.throughput.value:.1f}",
                f"{row.size * alone:.1f}",
                f"{row.efficiency.value:.1%}",
                f"{low:.1f} to {high:.1f}" if row.size > 1 else "",
                f"{row.data_share.value:.1%}" if row.loaded else "not seen",
                "<- look here" if row is look else "",
            )
        )
    show.table(columns, lines, numeric=range(6))
    _show_verdict(report, look)


def heading(report: Report) -> str:
    """What was measured, in a sentence."""
    if report.script:
        steps = "from the sixth optimizer step to the last, with all that lies between"
        return f"{report.script[0]}, each size launched in turn, {_threads(report)}; {steps}."
    if report.device == SIM:
        return (
            "A simulated device, whose time passes by a clock: "
            "it tests the measuring and says nothing about this machine."
        )
    return f"The built-in training on this machine's CPU, {report.cores} cores, {_threads(report)}."


def _threads(report: Report) -> str:
    return f"{report.threads} {'thread' if report.threads == 1 else 'threads'} a process at every size"


def _show_verdict(report: Report, look: Row | None) -> None:
    if report.refused:
        print(f"No verdict, this machine cannot give one now: {'; '.join(report.refused)}.")
        return
    if look is not None:
        print(f"At {look.size} processes each delivers {look.efficiency.value:.1%} of what one alone does.")
    elif len(report.rows) > 1:
        print(f"No efficiency is below {verdict.GOOD:.0%}.")
    differs = verdict.uneven(report.rows)
    if differs is not None:
        print(differs)
    loader = verdict.slow_loader(report.rows)
    if loader is not None and (report.cause is None or report.cause.cause != LOADER):
        print(loader)
    if report.readings is not None:
        _show_causes(report.readings, report.cause)


def _show_causes(readings: Sequence[causes.Reading], cause: causes.Reading | None) -> None:
    lines = []
    for reading in readings:
        lines.append((reading.cause, reading.change, reading.measured, reading.limit, "<-" if reading is cause else ""))
    print()
    show.table(("cause", "change", "measured", "named from", ""), lines)
    if cause is None:
        print("No cause is named: none of these changes makes the difference.")
    else:
        print(f"First cause: {cause.cause}. {cause.advice}")
