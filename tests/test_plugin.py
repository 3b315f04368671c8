"""The plugin inside pylint."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import DATA, FOUND, SAMPLER, SAVE, TRAIN, found, line_of, messages, pylint, run

from ddplint.rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

JSON = "--output-format=json2"
HERE = os.pathsep.join(filter(None, [".", os.environ.get("PYTHONPATH")]))
SAVING = '    torch.save(model.state_dict(), "model.pt")'


def test_finds_the_mistakes(project: Path) -> None:
    process = pylint(JSON, ".", "--recursive=y", cwd=project)
    assert found(process) == FOUND
    assert process.returncode == 4


def test_says_where_and_in_what(project: Path) -> None:
    save = next(m for m in messages(pylint(JSON, "train.py", cwd=project)) if m["symbol"] == SAVE)
    assert save["path"] == "train.py"
    assert (save["module"], save["obj"]) == ("train", "main")
    assert (save["line"], save["column"]) == (line_of("torch.save("), 4)
    assert save["endLine"] == save["line"]
    assert save["endColumn"] > save["column"]
    assert save["confidence"] in ("HIGH", "CONTROL_FLOW", "INFERENCE")


@pytest.mark.parametrize(
    "arguments",
    [
        ["train.py"],
        ["train.py", "data.py"],
        ["data.py", "train.py"],
        ["-j2", "train.py", "data.py"],
        ["-j2", "--recursive=y", "."],
    ],
    ids=" ".join,
)
def test_the_answer_is_the_same_however_it_is_asked_for(project: Path, arguments: list[str]) -> None:
    assert found(pylint(JSON, *arguments, cwd=project)) == FOUND


def test_the_answer_does_not_depend_on_the_working_directory(project: Path) -> None:
    process = pylint(JSON, project / "train.py", cwd=project.parent)
    assert found(process) == {(f"project/{path}", line, symbol) for path, line, symbol in FOUND}


def test_text_on_standard_input_stands_in_for_the_file(project: Path) -> None:
    (project / "train.py").write_text("print('not saved yet')\n")
    assert found(pylint(JSON, "--from-stdin", "train.py", cwd=project, stdin=TRAIN)) == FOUND
    assert found(pylint(JSON, "train.py", cwd=project)) == set()
    (project / "train.py").write_text(TRAIN)
    assert found(pylint(JSON, "--from-stdin", "train.py", cwd=project, stdin="print('cleared')\n")) == set()


def test_findings_belong_to_the_visited_file_alone(project: Path) -> None:
    assert found(pylint(JSON, "data.py", cwd=project)) == set()


SILENCED = {
    "on the line": TRAIN.replace(SAVING, f"{SAVING}  # pylint: disable={SAVE}"),
    "on the next line": TRAIN.replace(SAVING, f"    # pylint: disable-next={SAVE}\n{SAVING}"),
    "from here on": TRAIN.replace(SAVING, f"    # pylint: disable={SAVE}\n{SAVING}"),
    "in the function": TRAIN.replace("def main():", f"def main():\n    # pylint: disable={SAVE}"),
    "in the module": f"# pylint: disable={SAVE}\n{TRAIN}",
    "by its id": TRAIN.replace(SAVING, f"{SAVING}  # pylint: disable=W7104"),
    "with all of ddplint": TRAIN.replace(SAVING, f"{SAVING}  # pylint: disable=ddplint"),
}


@pytest.mark.parametrize("source", SILENCED.values(), ids=SILENCED.keys())
def test_a_comment_silences(project: Path, source: str) -> None:
    (project / "train.py").write_text(source)
    # With all of ddplint silenced, the rules that had nothing to say there are useless.
    others = [] if "disable=ddplint" in source else ["--enable=useless-suppression"]
    process = pylint(JSON, *others, "train.py", cwd=project)
    assert {symbol for _, _, symbol in found(process)} == {SAMPLER}


def test_a_file_can_be_skipped(project: Path) -> None:
    (project / "train.py").write_text(f"# pylint: skip-file\n{TRAIN}")
    assert found(pylint(JSON, "train.py", cwd=project)) == set()


def test_a_useless_comment_is_told(project: Path) -> None:
    (project / "data.py").write_text(f"{DATA}X = 1  # pylint: disable={SAVE}\n")
    process = pylint(JSON, "--enable=useless-suppression", "data.py", cwd=project)
    assert {symbol for _, _, symbol in found(process)} == {"useless-suppression"}


def test_the_configuration_silences(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.pylint]\nload-plugins = ["ddplint"]\ndisable = ["all"]\nenable = ["{SAMPLER}"]\n'
    )
    process = run([sys.executable, "-m", "pylint", JSON, "train.py"], project)
    assert {symbol for _, _, symbol in found(process)} == {SAMPLER}


def test_confidence_filters(project: Path) -> None:
    levels = {m["symbol"]: m["confidence"] for m in messages(pylint(JSON, "train.py", cwd=project))}
    process = pylint(JSON, "--confidence=UNDEFINED", "train.py", cwd=project)
    assert levels
    assert found(process) == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.symbol)
def test_every_rule_explains_itself(project: Path, rule: object) -> None:
    symbol = rule.symbol  # type: ignore[attr-defined]
    process = pylint(f"--help-msg={symbol}", cwd=project)
    assert f":{symbol} (" in process.stdout
    assert len(process.stdout) > 150


def test_the_registry_is_in_order() -> None:
    assert len({rule.id for rule in RULES}) == len({rule.symbol for rule in RULES}) == len(RULES)
    assert [rule.id for rule in RULES] == sorted(rule.id for rule in RULES)
    for rule in RULES:
        assert rule.id[1:3] == "71"
        assert rule.symbol.startswith("ddp-")
        assert rule.symbol.replace("-", "").isalpha()
        assert rule.message.strip(".") == rule.message


CACHE = """\
import json, sys
import astroid
from pylint.lint import Run
sys.stdout, out = sys.stderr, sys.stdout
Run(sys.argv[1:], exit=False)
print(json.dumps(sorted(astroid.MANAGER.astroid_cache)), file=out)
"""


def test_nothing_is_added_to_the_cache_of_astroid(project: Path) -> None:
    plain = [sys.executable, "-c", CACHE, "--disable=all", "--enable=unused-import", "train.py"]
    without = json.loads(run(plain, project).stdout)
    with_plugin = json.loads(run([*plain, "--load-plugins=ddplint", "--enable=ddplint"], project).stdout)
    assert with_plugin == without


BROKEN = """\
from ddplint.analysis import Analysis

answer = Analysis.findings


def findings(self, path, symbols):
    if path.endswith("data.py"):
        raise ValueError("this is\\nunexpected")
    return answer(self, path, symbols)


Analysis.findings = findings


def register(linter):
    pass
"""


@pytest.fixture
def broken(project: Path) -> Path:
    """The project, and a plugin that makes the analysis of data.py fail."""
    (project / "breakage.py").write_text(BROKEN)
    return project


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_a_mistake_of_ours_costs_one_message(broken: Path, jobs: str) -> None:
    arguments = [jobs, JSON, "--load-plugins=breakage", "data.py", "train.py"]
    process = pylint(*arguments, cwd=broken, DDPLINT_DEBUG="", PYTHONPATH=HERE)
    assert found(process) == {*FOUND, ("data.py", 1, "ddp-internal-error")}
    error = next(m for m in messages(process) if m["symbol"] == "ddp-internal-error")
    assert "ValueError: this is unexpected" in error["message"]
    assert "Traceback" not in process.stderr


def test_a_mistake_of_ours_is_raised_on_request(broken: Path) -> None:
    process = pylint("--load-plugins=breakage", "data.py", cwd=broken, DDPLINT_DEBUG="1", PYTHONPATH=HERE)
    assert "ValueError: this is\nunexpected" in process.stderr


def test_disabled_rules_cost_nothing(broken: Path) -> None:
    arguments = ["--load-plugins=breakage", "--disable=ddplint", "--enable=unused-import", "data.py"]
    process = pylint(*arguments, cwd=broken, PYTHONPATH=HERE)
    assert process.returncode == 0, process.stderr
