"""Changes of a case that keep its meaning, after which the same messages have to come, where their code now stands."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from .branching import branch_otherwise
from .importing import import_otherwise
from .layout import lay_out, rewrite
from .moving import into_class, into_module, move_block, move_body, move_run_part
from .noise import add_docstring, add_never, add_unused
from .ordering import swap_members, swap_neighbours
from .renaming import rename_everywhere, rename_local
from .sources import Found, UnwritableError, found_in, load, names
from .spelling import count_otherwise, name_value, spell_otherwise

if TYPE_CHECKING:
    from pathlib import Path

OPERATORS = {
    operator.__name__: operator
    for operator in (
        lay_out, rewrite, add_docstring, add_never, add_unused, swap_members, swap_neighbours, rename_local,
        rename_everywhere, import_otherwise, into_class, into_module, move_block, move_body, move_run_part,
        branch_otherwise, spell_otherwise, count_otherwise, name_value,
    )
}  # fmt: skip

__all__ = ["OPERATORS", "Disagreement", "Mutant", "names"]


@dataclass(frozen=True)
class Disagreement:
    """The messages that are missing, and those that nobody asked for."""

    missed: Found
    extra: Found


@dataclass(frozen=True)
class Mutant:
    """A case and what is done to it: operators, each with the seed of its choices."""

    case: str
    steps: tuple[tuple[str, int], ...]

    def applied(self, folder: Path) -> Found | None:
        """Write the changed case below ``folder``; the messages it has to get, ``None`` if it cannot be written."""
        sources = load(self.case)
        try:
            for name, seed in self.steps:
                OPERATORS[name](sources, Random(seed))
            return sources.write(folder)
        except UnwritableError:
            return None

    def disagreement(self, folder: Path) -> Disagreement | None:
        """What is wrong with the messages for the changed case, which is then left in ``folder``."""
        shutil.rmtree(folder, ignore_errors=True)
        wanted = self.applied(folder)
        found = found_in(folder) if wanted is not None else None
        if wanted is None or found is None or wanted == found:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return Disagreement(wanted - found, found - wanted)

    def simplest(self, folder: Path) -> Mutant:
        """With the steps left out that a disagreement does not need."""
        steps = list(self.steps)
        for step in self.steps:
            fewer = [kept for kept in steps if kept is not step]
            if Mutant(self.case, tuple(fewer)).disagreement(folder) is not None:
                steps = fewer
        return Mutant(self.case, tuple(steps))
