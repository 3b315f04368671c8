"""Each case: the messages of the real command are those that the comments in its files ask for."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ddplint, messages, pylint
from pylint.lint import Run

from ddplint.command import main
from ddplint.rules import RULES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conftest import Process

CASES = Path(__file__).parents[1] / "testdata" / "cases"
NAMES = sorted(toml.parent.name for toml in CASES.rglob("case.toml"))
EXPECTED = re.compile(r"#\s*\[((?:ddp-[a-z-]+)(?:\s*,\s*ddp-[a-z-]+)*)\]\s*$")
FORM = re.compile(r"[a-z]+-(bad|ok)-[a-z0-9]+(-[a-z0-9]+)*")
KNOWN = {rule.symbol for rule in RULES}
ENABLED = [f"--enable={symbol}" for symbol in sorted(KNOWN)]

JSON = "--output-format=json2"

Found = Counter[tuple[str, int, str]]
CONFIGURED = [
    name for name in NAMES if (toml := CASES / name / "pyproject.toml").is_file() and "pylint" in toml.read_text()
]
"""The cases with options of their own, which pylint reads in the working directory."""
ALIKE = [name for name in NAMES if name not in CONFIGURED]
SEVERAL = [name for name in NAMES if len(list((CASES / name).rglob("*.py"))) > 1]
SOME = ALIKE[::8]


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
    """What one run over all cases reports in each, and one over each that has options of its own."""
    return reported(trees, ALIKE) | {name: reported(trees, [name], within=name)[name] for name in CONFIGURED}


@pytest.fixture(scope="module")
def each_file(trees: Path) -> dict[str, Found]:
    """What runs over one file each report in the cases with more than one."""
    total: dict[str, Found] = defaultdict(Counter)
    for name in SEVERAL:
        for file in python_files(trees / name):
            within = name if name in CONFIGURED else ""
            for case, some in reported(trees, [file.relative_to(trees).as_posix()], within).items():
                total[case] += some
    return total


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, trees: Path, whole: dict[str, Found]) -> None:
    assert listed(whole.get(name)) == listed(expected(trees / name))


@pytest.mark.parametrize("name", SEVERAL)
def test_each_file_by_itself(name: str, whole: dict[str, Found], each_file: dict[str, Found]) -> None:
    assert listed(each_file.get(name)) == listed(whole.get(name))


@pytest.mark.long
def test_the_plugin_says_what_the_command_says(trees: Path, whole: dict[str, Found]) -> None:
    out = io.StringIO()
    options = ["--load-plugins=ddplint", "--disable=all", *ENABLED, "--recursive=y", "--output-format=json2"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(trees)
        Run([*options, *ALIKE], exit=False)
    got = by_case(json.loads(out.getvalue())["messages"])
    assert {name: listed(found) for name, found in got.items()} == {
        name: listed(whole[name]) for name in ALIKE if whole.get(name)
    }


@pytest.mark.parametrize("name", CONFIGURED)
def test_the_plugin_reads_the_options_of_a_case(name: str, trees: Path, whole: dict[str, Found]) -> None:
    got = messages(pylint(JSON, *ENABLED, "--recursive=y", ".", cwd=trees / name))
    assert listed(Counter((m["path"], m["line"], m["symbol"]) for m in got)) == listed(whole[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_case_has_its_form(name: str) -> None:
    case, facts = CASES / name, about(name)
    form = FORM.fullmatch(name)
    assert form
    assert (case / facts["entry"]).is_file()
    assert facts["run"] in ("torchrun", "python", "none")
    assert isinstance(facts["args"], list)
    assert facts["shape"].strip()
    assert facts["seen"].strip()
    marked = any(EXPECTED.search(line) for file in python_files(case) for line in source_lines(file))
    assert marked == (form[1] == "bad")


@pytest.mark.parametrize("name", [name for name in NAMES if "-bad-" in name])
def test_a_bad_case_has_a_good_twin_or_says_why_not(name: str) -> None:
    twin = CASES / name.replace("-bad-", "-ok-")
    assert twin.is_dir() != bool(about(name).get("alone", "").strip())


# However they are asked for


def test_the_order_of_files_changes_nothing(trees: Path, whole: dict[str, Found]) -> None:
    files = [file.relative_to(trees).as_posix() for name in SOME for file in python_files(trees / name)]
    assert_same(reported(trees, files[::-1]), whole)
    assert_same(reported(trees, files[1::2] + files[::2]), whole)


def test_the_number_of_processes_changes_nothing(trees: Path, whole: dict[str, Found]) -> None:
    assert_same(by_case(messages(ddplint("-j2", JSON, *ENABLED, *SOME, cwd=trees))), whole)


def test_the_working_directory_changes_nothing(trees: Path, whole: dict[str, Found]) -> None:
    inner = trees / SOME[0]
    paths = [Path("..", name) for name in SOME[1::2]] + [trees / name for name in SOME[2::2]]
    got = messages(ddplint(JSON, *ENABLED, ".", *paths, cwd=inner))
    for message in got:
        message["path"] = os.path.relpath(inner / message["path"], trees)
    assert_same(by_case(got), whole)


@pytest.mark.parametrize("name", [name for name in SOME if "-bad-" in name][::4])
def test_text_on_standard_input_is_judged_as_the_file_would_be(name: str, trees: Path, whole: dict[str, Found]) -> None:
    copy = trees / f"typed-{name}"
    shutil.copytree(trees / name, copy)
    for path in {path for path, _, _ in whole.get(name, ())}:
        text = (copy / path).read_text(encoding="utf-8")
        (copy / path).write_text("print('not saved yet')\n", encoding="utf-8")
        process = ddplint(JSON, *ENABLED, "--from-stdin", path, cwd=copy, stdin=text)
        (copy / path).write_text(text, encoding="utf-8")
        got = Counter((m["path"], m["line"], m["symbol"]) for m in messages(process))
        assert listed(got) == [entry for entry in listed(whole[name]) if entry[0] == path]


FAKE = "raise RuntimeError('torch was imported')\nclass DistributedDataParallel: ...\n"


@pytest.mark.parametrize("command", [ddplint, pylint], ids=["ddplint", "pylint"])
def test_an_installed_torch_changes_nothing(
    command: Callable[..., Process], trees: Path, whole: dict[str, Found], tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    for module in ("", "nn", "nn/parallel", "utils", "utils/data", "utils/data/distributed", "distributed"):
        folder = tmp_path / "torch" / module
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(FAKE)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    process = command("--recursive=y", JSON, *ENABLED, *SOME, cwd=trees, PYTHONPATH=path)
    assert "torch was imported" not in process.stderr
    assert_same(by_case(messages(process)), whole)


def assert_same(got: dict[str, Found], whole: dict[str, Found]) -> None:
    """That what was found in ``SOME`` cases is what a run over all finds there."""
    assert {name: listed(found) for name, found in got.items()} == {
        name: listed(whole[name]) for name in SOME if whole.get(name)
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


def reported(top: Path, paths: Iterable[str], within: str = "") -> dict[str, Found]:
    """The ddplint messages in ``paths`` below ``top`` by case; the command is run in the folder ``within``."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(top / within)
        main([*ENABLED, "--output-format=json2", *(os.path.relpath(top / path) for path in paths)])
        found = json.loads(out.getvalue())["messages"]
        for message in found:
            message["path"] = os.path.relpath(message["path"], top)
    return by_case(found)


def by_case(found: Iterable[dict[str, Any]]) -> dict[str, Found]:
    """The ddplint messages of ``found``; any other has to be announced by its case."""
    got: dict[str, Found] = defaultdict(Counter)
    for message in found:
        case, _, path = Path(message["path"]).as_posix().partition("/")
        symbol = message["symbol"]
        if symbol in KNOWN:
            got[case][path, message["line"], symbol] += 1
        else:
            assert symbol in ("syntax-error", "parse-error"), message
            assert path in about(case).get("unparsable", []), message
    return got
