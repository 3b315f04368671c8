"""Under which circumstances a statement runs: which ranks, and which answers to tests nobody can see.

Programs are thought to run on two nodes of four processes each. What a test of the rank says is computed for each of
the eight ranks; any other test is a fact that holds or does not hold, the same on every rank unless it depends on one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import NamedTuple

NODES = 2
PER_NODE = 4
WORLD = NODES * PER_NODE
EVERY_RANK = (1 << WORLD) - 1
_FIRST_NODE = (1 << PER_NODE) - 1
_MOST_CASES = 6


class Key(NamedTuple):
    """A test whose answer is not known. ``per_rank``: ranks may answer differently. ``counts``: it asks a counter.

    ``lone``: the answer by which a node has one device, and so one rank.
    """

    text: str
    per_rank: bool = False
    counts: bool = False
    lone: bool | None = None


Fact = tuple[Key, bool]


class Case(NamedTuple):
    """A conjunction: one of the ranks in ``mask`` runs here, and every fact holds."""

    mask: int = EVERY_RANK
    facts: frozenset[Fact] = frozenset()

    def both(self, other: Case) -> Case | None:
        """The conjunction of two cases, or None where they exclude each other."""
        mask = self.mask & other.mask
        if not mask:
            return None
        if not other.facts or other.facts is self.facts:
            return self if mask == self.mask else Case(mask, self.facts)
        if not self.facts:
            return other if mask == other.mask else Case(mask, other.facts)
        if _contradict(self.facts, other.facts):
            return None
        return Case(mask, self.facts | other.facts)

    def excludes(self, other: Case) -> bool:
        """Whether the two cannot hold at once."""
        if not self.mask & other.mask:
            return True
        return bool(self.facts and other.facts) and _contradict(self.facts, other.facts)

    def implies(self, other: Case) -> bool:
        """Whether the other holds wherever this one does."""
        return other.facts <= self.facts and not self.mask & ~other.mask

    @property
    def unsure(self) -> bool:
        """Whether a fact stands here that each rank may answer in its own way."""
        return any(key.per_rank for key, _ in self.facts)

    def crowded(self) -> bool:
        """Whether two processes of one node are in it."""
        if any(key.lone is answer for key, answer in self.facts):
            return False
        low, high = self.mask & _FIRST_NODE, self.mask >> PER_NODE
        return bool(low & (low - 1)) or bool(high & (high - 1))


def _contradict(left: frozenset[Fact], right: frozenset[Fact]) -> bool:
    """Whether a fact on one side and a fact on the other cannot both hold."""
    return not (right.isdisjoint(_denied(left)) and right.isdisjoint(_untrue(left)) and left.isdisjoint(_untrue(right)))


@lru_cache(maxsize=8192)
def _denied(facts: frozenset[Fact]) -> frozenset[Fact]:
    """The opposites of facts."""
    return frozenset((key, not answer) for key, answer in facts)


@lru_cache(maxsize=8192)
def _untrue(facts: frozenset[Fact]) -> frozenset[Fact]:
    """What is no truth of a value that equals a literal: that 1 is false, that 0 is true."""
    found = set()
    for key, answer in facts:
        if answer and (match := _EQUALS.fullmatch(key.text)):
            found.add((Key(match[2], key.per_rank, key.counts), match[1] in ("0", "''")))
    return frozenset(found)


_EQUALS = re.compile(r"Eq\((-?\d+|'[^']*'), (.+)\)")


Path = tuple[Case, ...]
"""A disjunction of cases; the empty one can never be."""

ALWAYS: Path = (Case(),)
NEVER: Path = ()
LOST = Key("more cases than are followed", per_rank=True)
_MERGED = Key("one of many cases")
"""Stands for the facts in which cases differ that are the same on every rank."""
MERGED_WAITS = Key("one of many counts", counts=True)
"""The same, where none of the cases holds in every round."""
PERHAPS_GUARDED = Key("one of many cases, others of which ask for the rank")
"""Stands beside them where a fact that was forgotten may be why a guard is not asked, or lets every rank pass."""
_MOST_COUNTERS = 6
_OPEN = (EVERY_RANK, frozenset[Fact]())
"""The ranks and the facts about ranks of what every rank surely does."""


def simplify(cases: Iterable[Case]) -> Path:
    """The same disjunction, with what is implied left out and opposite facts joined; bounded."""
    cases = tuple(cases)
    if len(cases) < 2:
        return cases
    return _simplified(cases)


@lru_cache(maxsize=4096)
def _simplified(cases: tuple[Case, ...]) -> Path:
    by_facts: dict[frozenset[Fact], int] = {}
    for case in cases:
        by_facts[case.facts] = by_facts.get(case.facts, 0) | case.mask
    if len(by_facts) == 1:
        facts, mask = next(iter(by_facts.items()))
        return (Case(mask, facts),)
    kept = [Case(mask, facts) for facts, mask in by_facts.items()]
    if len(kept) > _MOST_CASES * 2:
        return _fewer(kept)
    merged = True
    while merged:
        merged = False
        for i in range(len(kept)):
            for j in range(i + 1, len(kept)):
                if (union := _join(kept[i], kept[j])) is not None:
                    kept[i] = union
                    del kept[j]
                    merged = True
                    break
            if merged:
                break
    if len(kept) > _MOST_CASES:
        return _fewer(kept)
    return tuple(kept)


def _fewer(cases: list[Case]) -> Path:
    """The disjunction of too many cases: what no rank can tell apart becomes one, else all of them do."""
    cases = [case for case in cases if not any(case.implies(other) for other in cases if other is not case)]
    alike: dict[tuple[int, frozenset[Fact]], list[Case]] = {}
    for case in cases:
        own = frozenset(pair for pair in case.facts if pair[0].per_rank)
        alike.setdefault((case.mask, own), []).append(case)
    if len(alike) > _MOST_CASES:
        return (weakest(cases, lost=True),)
    joined = []
    for (mask, own), group in alike.items():
        # where other cases ask for the rank, a fact that is forgotten in these may say why they do not
        others = [case for case in cases if case not in group] if (mask, own) == _OPEN else []
        unsure = bool(others) and _parts(group, others)
        joined.append(weakest(group, lost=True, unsure=unsure) if len(group) > 1 else group[0])
    return simplify(joined)


def _parts(group: list[Case], others: list[Case]) -> bool:
    """Whether a fact that some of the group hold, and not all, is denied in all of the others."""
    told = frozenset.union(*(case.facts for case in group)) - frozenset.intersection(*(case.facts for case in group))
    return any(all((key, not answer) in case.facts for case in others) for key, answer in told)


def weakest(cases: Iterable[Case], lost: bool = False, unsure: bool = False) -> Case:
    """One case that holds whenever any of them does.

    ``lost``: facts are forgotten on the way; ``unsure``: they may decide on which ranks it is.
    """
    cases = list(cases)
    mask, facts = 0, None
    for case in cases:
        mask |= case.mask
        facts = case.facts if facts is None else facts & case.facts
    facts = facts or frozenset()
    if lost:
        alike = all(case.mask == mask and not any(key.per_rank for key, _ in case.facts - facts) for case in cases)
        counters = {key for case in cases for key, _ in case.facts - facts if key.counts}
        waits = alike and counters and not exhaust(cases, counters)
        facts |= {(MERGED_WAITS if waits else _MERGED if alike else LOST, True)}
        facts |= {(PERHAPS_GUARDED, True)} if unsure else set()
    return Case(mask or EVERY_RANK, facts)


def exhaust(cases: Iterable[Case], keys: set[Key]) -> bool:
    """Whether some case may hold whatever the answers to ``keys`` are."""
    wanted = [[pair for pair in case.facts if pair[0] in keys] for case in cases]
    if not all(wanted):
        return True
    answers_asked = {pair for facts in wanted for pair in facts}
    if not any((key, not answer) in answers_asked for key, answer in answers_asked):
        return False  # where each answer is the other one, no case holds
    if len(keys) > _MOST_COUNTERS:
        return True
    ordered = sorted(keys)
    for answers in product((True, False), repeat=len(ordered)):
        given = dict(zip(ordered, answers, strict=True))
        if not any(all(given[key] is answer for key, answer in facts) for facts in wanted):
            return False
    return True


def conjoin(left: Path, right: Path) -> Path:
    """Both disjunctions at once; of too many cases, those of ``left`` stay apart."""
    if right is ALWAYS or right == ALWAYS:
        return left
    if left is ALWAYS or left == ALWAYS:
        return right
    if len(left) == 1 and len(right) == 1:
        both = left[0].both(right[0])
        return NEVER if both is None else (both,)
    return _product(left, right)


@lru_cache(maxsize=8192)
def _product(left: Path, right: Path) -> Path:
    found = [[both for other in right if (both := one.both(other)) is not None] for one in left]
    cases = tuple(case for own in found for case in own)
    if len(cases) < 2:
        return cases
    path = _simplified(cases)
    if len(cases) <= _MOST_CASES or len(path) >= len(left) or not forgotten(path):
        return path
    apart = simplify(case for own in found for case in (_fewer(own) if len(own) > 1 else own))
    return apart if len(apart) > len(path) else path


def disjoin(left: Path, right: Path) -> Path:
    """Either of the two."""
    if not left:
        return right
    if not right:
        return left
    return simplify(left + right)


def forgotten(path: Path) -> bool:
    """Whether cases were joined on the way, so that what excludes what can no longer be told."""
    return any(key in (_MERGED, MERGED_WAITS, LOST) for case in path for key, _ in case.facts)


def meets(left: Path, right: Path) -> bool:
    """Whether both can hold at once."""
    return any(not one.excludes(other) for one in left for other in right)


def fact(key: Key, answer: bool) -> Path:
    """The path on which the test ``key`` gives ``answer``."""
    return (Case(EVERY_RANK, frozenset({(key, answer)})),)


def is_single(mask: int) -> bool:
    """Whether it is one rank, of each node or of all."""
    low, high = mask & _FIRST_NODE, mask >> PER_NODE
    return not low & (low - 1) and not high & (high - 1)


def forget(case: Case, mark: str) -> Case:
    """The case without the facts whose text mentions ``mark`` (a loop that has gone on to its next round)."""
    kept = frozenset(pair for pair in case.facts if mark not in pair[0].text)
    return case if len(kept) == len(case.facts) else Case(case.mask, kept)


def _join(left: Case, right: Case) -> Case | None:
    """One case for both, where nothing is lost by it."""
    (few, many) = (left, right) if len(left.facts) <= len(right.facts) else (right, left)
    if few.facts <= many.facts:
        if many.mask & ~few.mask == 0:
            return few
        if len(few.facts) == len(many.facts):
            return Case(left.mask | right.mask, left.facts)
        return None
    if left.mask != right.mask:
        return None
    rest = few.facts - many.facts
    if len(rest) != 1:
        return None
    ((key, answer),) = rest
    if (key, not answer) not in many.facts:
        return None
    shared = few.facts - rest
    if len(few.facts) == len(many.facts):
        return Case(left.mask, shared) if shared <= many.facts else None
    # both hold something the other lacks: no single case says as much
    return None
