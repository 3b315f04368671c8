"""Each case: the messages of the real command are those that the comments in its files ask for."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pylint.lint
import pytest

from ddplint.command import main
from ddplint.rules import RULES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

CASES = Path(__file__).parents[1] / "testdata" / "cases"
NAMES = sorted(toml.parent.name for toml in CASES.rglob("case.toml"))
EXPECTED = re.compile(r"#\s*\[((?:ddp-[a-z-]+)(?:\s*,\s*ddp-[a-z-]+)*)\]\s*$")
KNOWN = {rule.symbol for rule in RULES}
ENABLED = [f"--enable={symbol}" for symbol in sorted(KNOWN)]

Found = Counter[tuple[str, int, str]]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of each case, as a repository of its own."""
    top = tmp_path_factory.mktemp("cases")
    for name in NAMES:
        copy = top / name
        shutil.copytree(CASES / name, copy)
        (copy / ".git").mkdir()
        if generator := about(name).get("generate"):
            subprocess.run([sys.executable, generator], cwd=copy, check=True)
            (copy / generator).unlink()
    return top


@pytest.fixture(scope="module")
def whole(trees: Path) -> dict[str, Found]:
    """What one run over all cases reports in each."""
    return reported(trees, NAMES)


@pytest.fixture(scope="module")
def each_file(trees: Path) -> dict[str, Found]:
    """What runs over one file each report."""
    total: dict[str, Found] = defaultdict(Counter)
    for name in NAMES:
        for file in python_files(trees / name):
            for case, messages in reported(trees, [file.relative_to(trees).as_posix()]).items():
                total[case] += messages
    return total


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, trees: Path, whole: dict[str, Found]) -> None:
    assert listed(whole.get(name)) == listed(expected(trees / name))


@pytest.mark.parametrize("name", NAMES)
def test_each_file_by_itself(name: str, whole: dict[str, Found], each_file: dict[str, Found]) -> None:
    assert listed(each_file.get(name)) == listed(whole.get(name))


def test_the_plugin_says_what_the_command_says(trees: Path, whole: dict[str, Found]) -> None:
    out = io.StringIO()
    options = ["--load-plugins=ddplint", "--disable=all", *ENABLED, "--recursive=y", "--output-format=json2"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(trees)
        pylint.lint.Run([*options, *NAMES], exit=False)
    got = by_case(json.loads(out.getvalue())["messages"])
    assert {name: listed(found) for name, found in got.items()} == {
        name: listed(found) for name, found in whole.items()
    }


def about(name: str) -> dict[str, Any]:
    return tomllib.loads((CASES / name / "case.toml").read_text(encoding="utf-8"))


def listed(messages: Found | None) -> list[tuple[str, int, str]]:
    return sorted((messages or Counter()).elements())


def python_files(case: Path) -> list[Path]:
    return [path for path in sorted(case.rglob("*.py")) if path.is_file()]


def source_lines(file: Path) -> list[str]:
    """The file's lines as Python counts them, whatever its encoding."""
    try:
        with tokenize.open(file) as text:
            return list(text)
    except (SyntaxError, UnicodeDecodeError):
        with file.open(encoding="utf-8", errors="replace") as text:
            return list(text)


def expected(case: Path) -> Found:
    """The messages that the comments in the files of ``case`` ask for, of the rules there are."""
    wanted: Found = Counter()
    for file in python_files(case):
        for number, line in enumerate(source_lines(file), 1):
            if match := EXPECTED.search(line):
                for symbol in KNOWN.intersection(re.split(r"\s*,\s*", match.group(1))):
                    wanted[file.relative_to(case).as_posix(), number, symbol] += 1
    return wanted


def reported(top: Path, paths: Iterable[str]) -> dict[str, Found]:
    """The ddplint messages below ``top`` by case."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(top)
        main([*ENABLED, "--output-format=json2", *paths])
    return by_case(json.loads(out.getvalue())["messages"])


def by_case(messages: Iterable[dict[str, Any]]) -> dict[str, Found]:
    """The ddplint ``messages``; any other has to be announced by its case."""
    got: dict[str, Found] = defaultdict(Counter)
    for message in messages:
        case, _, path = Path(message["path"]).as_posix().partition("/")
        symbol = message["symbol"]
        if symbol in KNOWN:
            got[case][path, message["line"], symbol] += 1
        else:
            assert symbol in ("syntax-error", "parse-error"), message
            assert path in about(case).get("unparsable", []), message
    return got
