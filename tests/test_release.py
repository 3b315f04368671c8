"""What is released: an sdist, the wheel made from it, and what is there once the wheel is installed."""

from __future__ import annotations

import email
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import found, run

import ddplint as package
from ddplint.checker import DdpChecker
from ddplint.harness.command import COMMANDS
from ddplint.pages import page
from ddplint.rules import RULES

if TYPE_CHECKING:
    from email.message import Message

    from conftest import Process

ROOT = Path(__file__).parents[1]
CASE = "save-bad-best-beside-periodic"
NAME = f"ddplint-{package.__version__}"
JSON = "--output-format=json2"
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def files_below(*tops: str) -> set[str]:
    """The files of the repository below the folders ``tops``, but for what Python writes."""
    found = (path for top in tops for path in (ROOT / top).rglob("*") if path.is_file() or path.is_symlink())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def build(kind: str, source: Path, into: Path) -> Path:
    """Build the ``sdist`` or ``wheel`` of the tree ``source`` with the back end that pyproject.toml names."""
    process = run([sys.executable, "-m", "hatchling", "build", f"--target={kind}", f"--directory={into}"], source)
    assert process.returncode == 0, process.stdout + process.stderr
    [built] = into.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(sdist, folder, filter="data")
    return folder / NAME


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_string(archive.read(f"{NAME}.dist-info/METADATA").decode("utf-8"))


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of a new environment in which the wheel was installed and nothing else asked for."""
    environment = tmp_path_factory.mktemp("environment")
    for command in (
        ["venv", "--without-pip", str(environment)],
        ["pip", "--python", str(environment), "install", "--quiet", str(wheel)],
    ):
        process = run([sys.executable, "-m", *command], ROOT)
        assert process.returncode == 0, process.stdout + process.stderr
    return environment / ("Scripts" if sys.platform == "win32" else "bin")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(ROOT / "testdata" / "cases" / CASE, tmp_path / "case"))
    (copy / ".git").mkdir()
    return copy


def installed(commands: Path, name: str, *arguments: str, cwd: Path) -> Process:
    """Run the command ``name`` of the new environment, out of reach of the tree it was built from."""
    return run([str(commands / name), *arguments], cwd, PYTHONPATH="")


# What is in it


def test_the_sdist_holds_what_its_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = files_below("ddplint", "tests", "testdata", ".ci")
    assert wanted < names
    assert names - wanted == {
        ".gitignore",
        ".pre-commit-hooks.yaml",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
    }


def test_tests_run_in_the_unpacked_sdist(unpacked: Path) -> None:
    names = ("test_each_block_is_accounted_for", "test_the_test_command_is_what_ci_runs", "test_the_files_are_valid")
    tests = [f"tests/test_readme.py::{name}" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    process = run(command, unpacked, PYTHONPATH=str(unpacked))
    assert process.returncode == 0, process.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if not name.startswith(f"{NAME}.dist-info/")} == files_below("ddplint")
    assert {"ddplint/py.typed", "ddplint/harness/site/sitecustomize.py"} <= names
    assert {f"ddplint/pages/{rule.symbol}.md" for rule in RULES} <= names
    assert "ddplint/harness/prove/sources/save_mistake.py" in names


def test_the_metadata_is_true(metadata: Message) -> None:
    assert metadata["Version"] == package.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    classifiers = metadata.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)} <= set(classifiers)
    assert "Typing :: Typed" in classifiers


def test_nothing_beyond_pylint_is_required(metadata: Message) -> None:
    required = metadata.get_all("Requires-Dist") or []
    assert [line for line in required if "extra ==" not in line] == ["pylint<5,>=4"]
    harness = {line.partition(">")[0] for line in required if line.endswith("extra == 'harness'")}
    assert harness == {"numpy", "rich", "torch"}


# What is there once it is installed


def test_the_command_finds_what_it_finds_here(commands: Path, case: Path) -> None:
    process = installed(commands, "ddplint", JSON, ".", cwd=case)
    here = run([sys.executable, "-m", "ddplint", JSON, "."], case)
    assert process.returncode == 4, process.stderr
    assert found(process) == found(here) != set()


def test_the_plugin_finds_it_too(commands: Path, case: Path) -> None:
    options = ["--load-plugins=ddplint", "--disable=all", "--enable=ddplint", JSON, "--recursive=y", "."]
    process = installed(commands, "pylint", *options, cwd=case)
    assert process.returncode == 4, process.stderr
    assert found(process) == found(installed(commands, "ddplint", JSON, ".", cwd=case))


def test_the_pages_are_there(commands: Path, tmp_path: Path) -> None:
    for rule in RULES:
        process = installed(commands, "ddplint", "--explain", rule.symbol, cwd=tmp_path)
        assert (process.returncode, process.stdout) == (0, page(rule.symbol).text)


def test_both_commands_know_their_version(commands: Path, tmp_path: Path) -> None:
    for name in ("ddplint", "ddplint-run"):
        process = installed(commands, name, "--version", cwd=tmp_path)
        assert (process.returncode, process.stderr) == (0, "")
        assert process.stdout.splitlines()[0] == f"ddplint {package.__version__}"


def test_the_harness_says_what_it_needs(commands: Path, tmp_path: Path) -> None:
    process = installed(commands, "ddplint-run", "prove", cwd=tmp_path)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "ddplint-run: torch is not installed here: pip install 'ddplint[harness]'\n"


# The list of changes


def test_the_changes_begin_with_this_version() -> None:
    assert re.findall(r"^## (.*)$", CHANGES, re.MULTILINE)[0] == package.__version__


def test_the_changes_name_each_rule_command_and_option() -> None:
    for rule in RULES:
        assert f"[`{rule.symbol}`](ddplint/pages/{rule.symbol}.md)" in CHANGES
    for command in ("ddplint PATHS", "pylint --load-plugins=ddplint", *(f"ddplint-run {name}" for name in COMMANDS)):
        assert f"`{command}" in CHANGES
    for name, _ in DdpChecker.options:
        assert f"`--{name}" in CHANGES
