"""Draws a measurement as an SVG picture: efficiency by number of processes, and where the time of a step goes."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from ddplint.harness.scale.faults import SIM
from ddplint.harness.scale.windows import BACKWARD, DATA, FORWARD, OPTIMIZER, REST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddplint.harness.scale.report import Report
    from ddplint.harness.scale.windows import Row

_WIDTH, _HEIGHT = 960, 440
_TOP, _BOTTOM = 112, 344
_LEFT = (72, 448)  # the x range of each panel
_RIGHT = (552, 928)
_INK, _SOFT, _GRID, _ACCENT, _ALARM = "#1f2933", "#616e7c", "#e4e7eb", "#2f5d9b", "#b3261e"
# Told apart by lightness too, so also in print and by eyes that see fewer colours.
_COLOURS = {DATA: "#e0a030", FORWARD: "#9cc3e6", BACKWARD: "#2f5d9b", REST: "#2f5d9b", OPTIMIZER: "#7b8794"}
_STYLE = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"'


def draw(report: Report) -> str:
    """The picture, a whole SVG document."""
    rows = report.rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" {_STYLE}>',
        f"<title>{escape(_title(report))}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(32, 38, _title(report), size=18, weight=600),
        _subtitle(report),
        *_efficiency(rows),
        *_times(rows),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _title(report: Report) -> str:
    if report.script:
        return f"Scaling of {report.script[0].rpartition('/')[2]}"
    return "Scaling of the simulated device" if report.device == SIM else "Scaling of the built-in training on this CPU"


def _subtitle(report: Report) -> str:
    if report.refused:
        more = f", and {len(report.refused) - 1} more" if len(report.refused) > 1 else ""
        return _text(32, 60, f"No verdict: {report.refused[0]}{more}", size=13, fill=_ALARM)
    batch = f"{report.rows[0].batch:g} samples a step on each process"
    fault = f", fault put in: {report.injected}" if report.injected else ""
    return _text(32, 60, f"{batch}, torch {report.torch}{fault}", size=13, fill=_SOFT)


def _efficiency(rows: Sequence[Row]) -> Iterator[str]:
    """The left panel: a point with its interval for each size, under the line of the ideal."""
    highest = max(1.0, *(row.efficiency.high for row in rows))
    ceiling = math.ceil(highest * 100 / 20) * 20
    yield from _frame(_LEFT, "Efficiency, % (bars: 95% interval)", range(0, ceiling + 1, 20), ceiling)
    ideal = _y(100, ceiling)
    yield f'<line x1="{_LEFT[0]}" y1="{ideal}" x2="{_LEFT[1]}" y2="{ideal}" stroke="{_SOFT}" stroke-dasharray="4 4"/>'
    yield _text(_LEFT[1], ideal - 6, "ideal", anchor="end", fill=_SOFT)
    points = []
    for x, row in zip(_places(_LEFT, len(rows)), rows, strict=True):
        points.append((x, _y(100 * row.efficiency.value, ceiling)))
    path = " ".join(f"{x},{y}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{_ACCENT}" stroke-width="2"/>'
    for (x, y), row in zip(points, rows, strict=True):
        low, high = _y(100 * row.efficiency.low, ceiling), _y(100 * row.efficiency.high, ceiling)
        yield (
            f'<path d="M{x} {low}V{high}M{x - 6} {low}h12M{x - 6} {high}h12" stroke="{_ACCENT}" stroke-width="1.5" '
            'fill="none"/>'
        )
        yield f'<circle cx="{x}" cy="{y}" r="4.5" fill="#ffffff" stroke="{_ACCENT}" stroke-width="2"/>'
        yield _text(x, max(low, y) + 20, f"{100 * row.efficiency.value:.1f}", anchor="middle", weight=600)
        yield _text(x, _BOTTOM + 20, str(row.size), anchor="middle", fill=_SOFT)


def _times(rows: Sequence[Row]) -> Iterator[str]:
    """The right panel: for each size the parts of a step, stacked."""
    names = list(rows[0].phases)
    totals = [sum(row.phases.values()) for row in rows]
    step = _tick(max(totals))
    ceiling = step * math.ceil(max(totals) * 1.05 / step)
    ticks = [step * number for number in range(round(ceiling / step) + 1)]
    yield from _frame(_RIGHT, "Time of a step, ms", ticks, ceiling)
    places = _places(_RIGHT, len(rows))
    width = min(56.0, (_RIGHT[1] - _RIGHT[0]) / len(rows) * 0.6)
    for x, row, total in zip(places, rows, totals, strict=True):
        below = 0.0
        for name in names:
            top, foot = _y(below + row.phases[name], ceiling), _y(below, ceiling)
            below += row.phases[name]
            yield (
                f'<rect x="{x - width / 2:.1f}" y="{top}" width="{width:.1f}" height="{foot - top:.1f}" '
                f'fill="{_COLOURS[name]}"><title>{escape(name)}: {row.phases[name]:.2f} ms</title></rect>'
            )
        yield _text(x, _y(total, ceiling) - 7, f"{total:.1f}", anchor="middle", weight=600)
        yield _text(x, _BOTTOM + 20, str(row.size), anchor="middle", fill=_SOFT)
    x = float(_RIGHT[0] - 40)
    for name in names:
        yield f'<rect x="{x:.0f}" y="{_BOTTOM + 62}" width="11" height="11" rx="2" fill="{_COLOURS[name]}"/>'
        yield _text(x + 17, _BOTTOM + 72, name, size=12)
        x += 36 + 6.6 * len(name)


def _frame(panel: tuple[int, int], title: str, ticks: Sequence[float], ceiling: float) -> Iterator[str]:
    """A panel's title, its lines across with their figures, and the name of the x axis."""
    left, right = panel
    yield _text(left - 40, _TOP - 20, title, size=13, weight=600)
    for tick in ticks:
        y = _y(tick, ceiling)
        colour = _SOFT if tick == 0 else _GRID
        yield f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="{colour}"/>'
        yield _text(left - 8, y + 4, f"{tick:g}", anchor="end", fill=_SOFT)
    yield _text((left + right) / 2, _BOTTOM + 42, "processes", anchor="middle", fill=_SOFT)


def _places(panel: tuple[int, int], number: int) -> list[float]:
    left, right = panel
    return [round(left + (right - left) * (place + 0.5) / number, 1) for place in range(number)]


def _y(value: float, ceiling: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * value / ceiling, 1)


def _tick(highest: float) -> float:
    """A round distance of lines: 1, 2 or 5 times a power of ten, four to eight of them up to ``highest``."""
    rough = highest / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= rough)


def _text(
    x: float, y: float, text: str, *, size: int = 12, weight: int = 400, anchor: str = "start", fill: str = _INK
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{fill}">{escape(text)}</text>'
    )
