"""What the tests of a loop's counter answer, tried out in each round with some numbers for what is not known."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

from ddplint.engine import facts
from ddplint.engine.conditions import Fact
from ddplint.engine.operators import OPERATORS
from ddplint.engine.values import FOLDING_ERRORS

_CALCULATIONS: dict[str, Callable[[Any, Any], Any]] = {
    kind.__name__: what for kind, what in OPERATORS.items() if kind not in (ast.Is, ast.IsNot, ast.In, ast.NotIn)
}
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,9})?")
_ROUND = re.compile(r"(?:number|count) loop@(\d+);")
_COUNT = re.compile(r"(\w+) so far loop@(\d+);")
_VAGUE = re.compile(r"\||loop@|counted|count by|^['\"]|^None$|^[0-9a-f]{12}$|^[A-Z]\w*\(")
"""In the text of something of which the text does not say all: other things than a number may be written so."""
_SAMPLES = (2, 3, 4)
_LENGTHS = (5, 6, 7, 8)
_PARTS = (2, 3, 4, 5, 8)
_ROUNDS_TRIED = 12
_MOST_UNKNOWN = 3

_Term = int | float | bool | str | tuple[str, "_Term", "_Term"]


def calculable(test: Fact) -> bool:
    """Whether a test can be tried out: it calculates with a loop's rounds, with literals and with fixed numbers."""
    return isinstance(_parsed(test[0].text), tuple)


def in_each_round(test: str, known: Iterable[Fact]) -> bool:
    """Whether a test asks for every so many rounds, and facts say that so many are one at most."""
    facts_known = {(key.text, answer) for key, answer in known}
    for start in re.finditer(r"Mod\(", test):
        parts = list(_arguments(_in_brackets(test[start.end() :])))
        number = parts[1] if len(parts) == 2 else ""
        ones = {(f"Gt({number}, 1)", False), (f"Lt({number}, 2)", True)}
        ones |= {(f"Eq(1, {number})", True), (f"Eq({number}, 1)", True)}
        if number and ones & facts_known:
            return True
    return False


def _in_brackets(text: str) -> str:
    """What stands before the bracket that closes one that was opened before the text."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return text[:at]
    return ""


def is_fixed(test: Fact) -> bool:
    """Whether a test can be tried out, and answers the same in every round."""
    return calculable(test) and not any(name.startswith("@") for name in _names(_parsed(test[0].text) or 0))


def counters_in(tests: Iterable[Fact], own: facts.Loop) -> set[str]:
    """The names that a loop counts by hand, of which tests speak."""
    found = (match for key, _ in tests for match in re.finditer(_COUNT, key.text))
    return {match[1] for match in found if match[2] == str(own.uid)}


class Trial:
    """Facts to be tried out in the rounds of loops.

    ``given`` holds each group of facts with the number of rounds by which it looks back. ``last`` are loops that are in
    their last round, ``own`` is the one whose round is searched for. ``until``: facts on which a counter by hand starts
    anew, so that the first round in which they hold is the only one; ``before``: the round comes earlier than these.
    """

    def __init__(
        self,
        given: Iterable[tuple[Iterable[Fact], int]],
        own: facts.Loop | None,
        last: Iterable[facts.Loop] = (),
        until: Iterable[Fact] = (),
        before: Iterable[Fact] = (),
    ) -> None:
        self._terms = [
            (term, answer, back)
            for group, back in given
            for key, answer in group
            if isinstance(term := _parsed(key.text), tuple)
        ]
        self._until = [(term, answer, 0) for key, answer in until if isinstance(term := _parsed(key.text), tuple)]
        self._before = [(term, answer, 0) for key, answer in before if isinstance(term := _parsed(key.text), tuple)]
        asked = {name for term, _, _ in self._terms for name in _names(term)}
        self._counters = {name for name in asked if name.startswith("@") and ":" in name}
        own = own if own is not None and any(name.split(":")[0] == f"@{own.uid}" for name in asked) else None
        self._own = own
        self._last = [(loop, _parsed(loop.rounds) if loop.rounds else None) for loop in last]
        # what is counted by hand goes on where the loop is run again
        self._rounds = _parsed(own.rounds) if own is not None and own.rounds and not self._counters else None

    def holds(self) -> bool:
        """Whether there is such a round, whatever the numbers are; of a length only some may have one."""
        names = {name for term, _, _ in self._terms for name in _names(term)}
        if self._counters and not self._can_count(names):
            return False
        own = {f"@{self._own.uid}", *self._counters} if self._own is not None else set()
        inner = {f"@{loop.uid}" for loop, _ in self._last}
        for term in [self._rounds, *(rounds for _, rounds in self._last)]:
            names |= set(_names(term)) if term is not None else set()
        lengths = sorted(name for name in names if name.startswith("len("))
        others = sorted(names - own - inner - set(lengths))
        if len(others) > _MOST_UNKNOWN or len(lengths) > 1:
            return False
        # how many parts a batch is cut into, the program knows: it has to hold for each number of them
        ends = {
            name
            for loop, rounds in self._last
            if rounds is not None and loop.rounds not in {f"len({loader.key})" for loader in loop.over}
            for name in _names(rounds)
        }
        whether, tried = (all, _PARTS) if ends & set(lengths) else (any, _LENGTHS)
        return all(
            whether(
                self._some_round({**dict(zip(others, numbers, strict=True)), **dict.fromkeys(lengths, length)})
                for length in (tried if lengths else tried[:1])
            )
            for numbers in product(_SAMPLES, repeat=len(others))
        )

    def _can_count(self, names: set[str]) -> bool:
        """Whether the only thing that is counted by hand is counted in the loop whose round is searched for."""
        if self._own is None or self._last or any(back for _, _, back in self._terms):
            return False
        return (
            len(self._counters) == 1
            and all(name.split(":")[0] == f"@{self._own.uid}" for name in self._counters)
            and (f"@{self._own.uid}" not in names)
        )

    def _some_round(self, numbers: Mapping[str, Any]) -> bool:
        rounds: Any = _ROUNDS_TRIED
        if self._rounds is not None:
            rounds = _value(self._rounds, numbers)
        if not isinstance(rounds, int):
            return False
        inner: dict[str, Any] = {}
        free = []
        for loop, term in self._last:
            known: Any = _value(term, numbers) if term is not None else None
            if isinstance(known, int) and known > 0:
                inner[f"@{loop.uid}"] = known - 1
            else:
                free.append(f"@{loop.uid}")
        if self._until:
            ends = (turn for turn in range(_ROUNDS_TRIED) if self._all_hold(numbers, turn, self._until))
            return (turn := next(ends, None)) is not None and self._all_hold(numbers, turn, self._terms)
        if self._before:
            rest = (turn for turn in range(_ROUNDS_TRIED) if self._all_hold(numbers, turn, self._before))
            return any(self._all_hold(numbers, turn, self._terms) for turn in range(next(rest, _ROUNDS_TRIED)))
        # how long such a loop is nobody knows: it has to hold wherever it ends
        return all(
            any(
                self._all_hold({**numbers, **inner, **dict(zip(free, ends, strict=True))}, turn, self._terms)
                for turn in range(min(rounds, _ROUNDS_TRIED))
            )
            for ends in product(range(_ROUNDS_TRIED), repeat=min(len(free), 2))
        )

    def _all_hold(self, numbers: Mapping[str, Any], turn: int, terms: Iterable[tuple[_Term, bool, int]]) -> bool:
        for term, answer, back in terms:
            seen = dict(numbers)
            if self._own is not None:
                seen |= dict.fromkeys((f"@{self._own.uid}", *self._counters), turn - back)
            for loop, _ in self._last:
                seen[f"@{loop.uid}"] = numbers.get(f"@{loop.uid}", 0) - back
            if self._own is not None and turn < back:
                return False
            value = _value(term, seen)
            if value is None or bool(value) is not answer:
                return False
        return True


@lru_cache(maxsize=4096)
def _parsed(text: str) -> _Term | None:
    """What a test calculates; None where the text does not tell."""
    if _NUMBER.fullmatch(text) or text in ("True", "False"):
        number: int | float | bool = ast.literal_eval(text)
        return number
    if match := _ROUND.fullmatch(text):
        return f"@{match[1]}"
    if match := _COUNT.fullmatch(text):
        return f"@{match[2]}:{match[1]}"
    name, bracket, rest = text.partition("(")
    if bracket and name in _CALCULATIONS and rest.endswith(")"):
        parts = list(_arguments(rest[:-1]))
        if len(parts) == 2:
            left, right = _parsed(parts[0]), _parsed(parts[1])
            return None if left is None or right is None else (name, left, right)
        return None
    return None if _VAGUE.search(text) else text


def _arguments(text: str) -> Iterator[str]:
    """The parts of a text between the commas that stand in no bracket."""
    depth = start = 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _names(term: _Term) -> Iterator[str]:
    if isinstance(term, str):
        yield term
    elif isinstance(term, tuple):
        yield from _names(term[1])
        yield from _names(term[2])


def _value(term: _Term, numbers: Mapping[str, Any]) -> Any:
    if isinstance(term, str):
        return numbers.get(term)
    if not isinstance(term, tuple):
        return term
    left, right = _value(term[1], numbers), _value(term[2], numbers)
    if left is None or right is None:
        return None
    try:
        return _CALCULATIONS[term[0]](left, right)
    except FOLDING_ERRORS:
        return None
