"""Changes that keep a program's meaning keep its messages, each where its code now stands."""

from __future__ import annotations

import ast
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import OPERATORS, Mutant, names
from mutants.sources import load

if TYPE_CHECKING:
    from pathlib import Path

CASES = names()
STEPS = st.lists(st.tuples(st.sampled_from(sorted(OPERATORS)), st.integers(0, (1 << 32) - 1)), min_size=1, max_size=6)
MUTANTS = st.builds(Mutant, st.sampled_from(CASES), STEPS.map(tuple))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants").resolve()


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(mutant=MUTANTS)
def test_what_keeps_the_meaning_keeps_the_messages(folder: Path, mutant: Mutant) -> None:
    assert mutant.disagreement(folder / "changed") is None


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_an_operator_changes_the_text(operator: str) -> None:
    count = 0
    for name in Random(1).sample(CASES, len(CASES)):
        sources = load(name)
        before = {path: sources.text(path) for path in sources.trees()}
        if OPERATORS[operator](sources, Random(name)):
            after = {path: sources.text(path) for path in sources.trees()}
            assert before != after
            for text in after.values():
                ast.parse(text.encode())
            count += 1
        if count == 3:
            return
    pytest.fail("it finds nothing to change")
