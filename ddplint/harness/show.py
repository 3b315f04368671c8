"""Tables and lines: drawn on a terminal, aligned plain text in a pipe."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_terminal() -> bool:
    """Whether what is printed is looked at on a terminal that draws."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def heading(text: str) -> None:
    """Print ``text`` above what follows, bold on a terminal."""
    bold = is_terminal() and not os.environ.get("NO_COLOR")
    print(f"\x1b[1m{text}\x1b[0m" if bold else text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> None:
    """Print ``rows`` under ``columns``; those whose index is ``numeric`` are set flush right."""
    if is_terminal() and importlib.util.find_spec("rich") is not None:  # torch may be there without the extra
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
        for index, column in enumerate(columns):
            drawn.add_column(column, justify="right" if index in numeric else "left", overflow="fold")
        for row in rows:
            drawn.add_row(*(Text(cell) for cell in row))
        Console(no_color=bool(os.environ.get("NO_COLOR"))).print(drawn)
        return
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        cells = [
            cell.rjust(width) if index in numeric else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def progress(text: str) -> None:
    """Replace the progress line on a terminal's error stream by ``text``; in a pipe there is none."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
