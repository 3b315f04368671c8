"""What a judge says about one rule in one run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

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

    What is said of one place on several ranks is said once. Mistakes stand each for itself, in the order of their
    places. Without any, one verdict is left: what could not be judged outweighs what is clean, and ``idle`` is the
    reason where there was nothing to judge.
    """
    merged: dict[tuple[State, tuple[str, ...]], Verdict] = {}
    for part in parts:
        key = part.state, part.sites
        first = merged.setdefault(key, part)
        merged[key] = replace(first, ranks=tuple(sorted({*first.ranks, *part.ranks})))
    found = [part for part in merged.values() if part.state is State.FOUND]
    if found:
        return sorted(found, key=lambda verdict: (_place(verdict.site), verdict.sites))
    for state in (State.CANNOT_JUDGE, State.CLEAN, State.NOT_EXERCISED):
        for part in merged.values():
            if part.state is state:
                return [part]
    return [Verdict(rule, State.NOT_EXERCISED, idle)]


def _place(site: str | None) -> tuple[str, int]:
    file, _, line = (site or "").rpartition(":")
    return file, int(line) if line.isdecimal() else 0
