"""What a judge says about one rule in one run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import shared_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Evidence = dict[str, object]
"""Named numbers and short lists, fit for JSON."""


class State(Enum):
    """What a run showed about a rule. What did not happen is never clean."""

    FOUND = "found"
    CLEAN = "clean"
    NOT_EXERCISED = "not exercised"
    CANNOT_JUDGE = "cannot judge"


@dataclass(frozen=True)
class Verdict:
    """One answer.

    ``rule`` is the linter's symbol. ``sites`` are the user's frames at the construct, innermost first: the finding
    stands at the first. ``ranks`` are those that made the mistake. ``message`` is a sentence: what is wrong, what
    happened because of it, what to write; or why nothing can be said.
    """

    rule: str
    state: State
    message: str
    sites: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: Evidence = field(default_factory=dict)

    @property
    def site(self) -> str | None:
        """``FILE:LINE`` of the construct, None where there is none."""
        return self.sites[0] if self.sites else None


def summed_up(rule: str, parts: list[Verdict], idle: str) -> list[Verdict]:
    """What the verdicts on ``parts`` of a run say together about ``rule``.

    One mistake is told once, in the order of the places. A construct in a helper that was also called rightly is right
    itself: the mistake stands where the wrong call leaves the right ones. Without any mistake one verdict is left: what
    could not be judged outweighs what is clean, and ``idle`` is the reason where there was nothing to judge.
    """
    found: dict[str | None, Verdict] = {}
    right = [part.sites for part in parts if part.state is State.CLEAN]
    for part in parts:
        if part.state is State.FOUND:
            placed = replace(part, sites=parted(part.sites, right))
            found[placed.site] = _with_ranks(found.get(placed.site, placed), part.ranks)
    if found:
        return sorted(found.values(), key=lambda verdict: _place(verdict.site))
    for state in (State.CANNOT_JUDGE, State.CLEAN, State.NOT_EXERCISED):
        for part in parts:
            if part.state is state:
                alike = [other.ranks for other in parts if (other.state, other.sites) == (state, part.sites)]
                return [_with_ranks(part, chain.from_iterable(alike))]
    return [Verdict(rule, State.NOT_EXERCISED, idle)]


def parted(stack: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """``stack`` (innermost first) from the first frame on that none of ``others`` leads through."""
    shared = (shared_start(stack, other) for other in others)
    return stack[max((count for count in shared if count < len(stack)), default=0) :]


def listed(ranks: Sequence[int]) -> str:
    """Ranks in a sentence."""
    *most, last = map(str, ranks)
    return f"{', '.join(most)} and {last}" if most else last


def _with_ranks(verdict: Verdict, ranks: Iterable[int]) -> Verdict:
    return replace(verdict, ranks=tuple(sorted({*verdict.ranks, *ranks})))


def _place(site: str | None) -> tuple[str, int]:
    file, _, line = (site or "").rpartition(":")
    return file, int(line) if line.isdecimal() else 0
