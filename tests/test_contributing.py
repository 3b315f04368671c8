"""What CONTRIBUTING.md says can be done: its example is added to a copy of ddplint, as the page has it."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
import readme
from conftest import found, run

from ddplint.pages import page

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Process

ROOT = readme.ROOT
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = readme.blocks(TEXT)
SYMBOL = "ddp-unused-parameter-search"
BAD, OK = "testdata/cases/unused-bad-page-example", "testdata/cases/unused-ok-page-example"
SHOWN = "testdata/cases/save-bad-page-example"
JSON = "--output-format=json2"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of ddplint with the example in it."""
    root = tmp_path_factory.mktemp("grown")
    (root / ".git").mkdir()
    for folder in ("ddplint", SHOWN):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / BAD).mkdir()
    readme.lay_out(TEXT, root)
    shutil.copytree(root / BAD, root / OK)
    [cured] = (block.text for block in BLOCKS if block.text.startswith("model = "))
    (root / OK / "train.py").write_text(re.sub(r"model = .*\n", cured, (root / OK / "train.py").read_text()))
    write_page(root)
    register(root)
    return root


def write_page(root: Path) -> None:
    """Copy the page that is named and rewrite what the tests look at."""
    copied, written = re.findall(r"`(ddplint/pages/ddp-[a-z-]+\.md)`", TEXT)[:2]
    old = page(copied.rpartition("/")[2].removesuffix(".md"))
    text = old.text
    for heading, case in (("Wrong", BAD), ("Right", OK)):
        text = text.replace(old.sections[heading], f"```python\n{(root / case / 'train.py').read_text()}```")
    text = text.replace(old.symbol, SYMBOL).replace(old.id, "W7190").replace(old.summary, "What it is about.")
    (root / written).write_text(text, encoding="utf-8")


def register(root: Path) -> None:
    """Add the two lines to the registry."""
    [block] = (block for block in BLOCKS if block.note.startswith("add to: "))
    registry = root / block.note.removeprefix("add to: ")
    import_, entry = (line.removeprefix("+") + "\n" for line in block.text.splitlines())
    text = registry.read_text(encoding="utf-8")
    assert text.count("\n\nRULES: ") == text.count("\n)\nBY_SYMBOL") == 1
    text = text.replace("\n\nRULES: ", f"\n{import_}\nRULES: ").replace("\n)\nBY_SYMBOL", f"\n{entry})\nBY_SYMBOL")
    registry.write_text(text, encoding="utf-8")


def here(grown: Path, *arguments: str) -> Process:
    """Run the ``ddplint`` of the copy in the copy."""
    return run([*readme.DDPLINT, *arguments], grown, PYTHONPATH=str(grown))


def test_the_new_rule_is_listed_and_explained(grown: Path) -> None:
    assert here(grown, "--list").stdout.splitlines()[-1].split()[:2] == ["W7190", SYMBOL]
    explained = here(grown, "--explain", SYMBOL).stdout
    assert explained.startswith(f"# {SYMBOL} (W7190)\n\nWhat it is about.\n\n## ")
    for case in (BAD, OK):
        assert f"```python\n{(grown / case / 'train.py').read_text()}```" in explained


def test_the_new_rule_finds_its_case_and_not_the_twin(grown: Path) -> None:
    marked = (grown / BAD / "train.py").read_text().splitlines()
    line = next(number for number, text in enumerate(marked, 1) if text.endswith(f"# [{SYMBOL}]"))
    assert found(here(grown, JSON, f"--enable={SYMBOL}", BAD, OK)) == {(f"{BAD}/train.py", line, SYMBOL)}
    assert found(here(grown, JSON, BAD, OK)) == set()


def test_the_commands_run(grown: Path) -> None:
    shown = [block.text for block in BLOCKS if block.note == "run"]
    events, commands = shown
    python = f"{sys.executable} "
    process = run(["bash", "-ec", re.sub(r"^python ", python, events)], grown, PYTHONPATH=str(grown))
    assert process.stderr == ""
    assert {"Wrap", "Forward", "Backward", "Step", "Save"} <= set(process.stdout.split())
    for command in commands.splitlines():
        process = here(grown, *command.split()[1:])
        assert (process.returncode, process.stderr) == (4 if "testdata" in command else 0, "")
        assert process.stdout


def test_the_files_and_folders_are_there(grown: Path) -> None:
    names = set(re.findall(r"(?<![\w/])(?:ddplint|tests|testdata|\.ci)/[\w/.-]*\w", TEXT))
    assert len(names) > 20
    examples = {"testdata/cases/FAMILY-bad-SHAPE"}
    assert [name for name in sorted(names - examples) if not ((ROOT / name).exists() or (grown / name).exists())] == []


def test_the_names_are_those_in_the_code() -> None:
    sources = [path for top in ("ddplint", "tests") for path in sorted((ROOT / top).rglob("*.py"))]
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*sources, ROOT / "pyproject.toml"])
    names = {name.rpartition(".")[2] for name in re.findall(r"`([A-Za-z_][\w.]*)(?:\([\w.]*\))?`", TEXT)}
    assert len(names) > 20
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", code)] == []


def test_the_checks_are_those_of_ci() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [set_up] = (block.text for block in BLOCKS if "venv" in block.text)
    [checks] = (block.text for block in BLOCKS if block.text.startswith("ruff"))
    assert re.findall(r"'\.\[\w+\]'", set_up) == re.findall(r"'\.\[\w+\]'", ci)
    for command in checks.strip().replace(" --fix", "").replace(" .", "").split(" && "):
        assert re.search(rf"^{command}\b", ci, re.MULTILINE)
