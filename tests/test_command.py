"""The ``ddplint`` command: options, configuration, formats, exit status."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from conftest import FOUND, PLAIN, SAMPLER, SAVE, TRAIN, ddplint, found, line_of, messages, run

import ddplint as package

if TYPE_CHECKING:
    from pathlib import Path

JSON = "--output-format=json2"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A repository in which nothing concerns DDP."""
    root = tmp_path / "plain"
    (root / ".git").mkdir(parents=True)
    (root / "area.py").write_text(PLAIN)
    return root


def test_finds_the_mistakes(project: Path) -> None:
    process = ddplint(".", cwd=project)
    lines = process.stdout.splitlines()
    assert [line.split(" ")[0] for line in lines[1:]] == [
        f"train.py:{line_of('DataLoader(')}:13:",
        f"train.py:{line_of('torch.save(')}:4:",
    ]
    assert f"({SAMPLER})" in lines[1]
    assert f"({SAVE})" in lines[2]
    assert process.returncode == 4
    assert process.stderr == ""


def test_says_nothing_where_there_is_nothing_to_say(plain: Path) -> None:
    process = ddplint(".", cwd=plain)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["."],
        [".", "train.py", "./train.py"],
        ["train.py"],
        ["data.py", "train.py"],
        ["train.py", "data.py"],
        ["-j2", "train.py", "data.py"],
        ["--jobs=2", "."],
        ["-j", "2", "."],
        ["--recursive=n", "."],
        ["--disable=", "train.py"],
        ["--", "train.py"],
        ["*.py"],
    ],
    ids=" ".join,
)
def test_the_answer_is_the_same_however_it_is_asked_for(project: Path, arguments: list[str]) -> None:
    process = ddplint(JSON, *arguments, cwd=project)
    assert found(process) == FOUND
    assert process.returncode == 4


def test_the_answer_does_not_depend_on_the_working_directory(project: Path) -> None:
    assert found(ddplint(JSON, "project", cwd=project.parent)) == {(f"project/{p}", n, s) for p, n, s in FOUND}
    (project / "sub").mkdir()
    assert found(ddplint(JSON, "..", cwd=project / "sub")) == {(str(project / p), n, s) for p, n, s in FOUND}


def test_is_a_module_too(project: Path) -> None:
    process = run([sys.executable, "-m", "ddplint", JSON, "."], project)
    assert found(process) == FOUND


def test_text_on_standard_input_stands_in_for_the_file(project: Path) -> None:
    (project / "train.py").write_text(PLAIN)
    assert found(ddplint(JSON, "--from-stdin", "train.py", cwd=project, stdin=TRAIN)) == FOUND
    assert found(ddplint(JSON, "--from-stdin", "new.py", cwd=project, stdin=TRAIN)) == {
        ("new.py", line, symbol) for _, line, symbol in FOUND
    }


def test_only_python_files_of_the_project_are_looked_at(project: Path) -> None:
    for folder in (".tox/lib", "build/lib", "dist", "env/lib", "node_modules/a", "site-packages", "__pycache__"):
        (project / folder).mkdir(parents=True)
        (project / folder / "train.py").write_text(TRAIN)
    (project / "env" / "pyvenv.cfg").touch()
    (project / "notes.txt").write_text(TRAIN)
    assert found(ddplint(JSON, ".", cwd=project)) == FOUND
    (project / "build" / "lib" / "__init__.py").touch()
    (project / "build" / "__init__.py").touch()
    assert {path for path, _, _ in found(ddplint(JSON, ".", cwd=project))} == {"train.py", "build/lib/train.py"}


# Formats


def test_every_format_shows_the_findings(project: Path) -> None:
    for name in ("text", "parseable", "colorized", "no-header", "json", "json2", "msvs", "github", "junit"):
        process = ddplint(f"--output-format={name}", ".", cwd=project)
        assert process.returncode == 4, name
        assert SAMPLER in process.stdout or "W7101" in process.stdout, name


def test_formats_for_machines_are_whole_when_nothing_is_found(plain: Path) -> None:
    assert json.loads(ddplint("--output-format=json", ".", cwd=plain).stdout) == []
    answer = json.loads(ddplint(JSON, ".", cwd=plain).stdout)
    assert answer["messages"] == []
    assert set(answer["statistics"]) == {"messageTypeCount", "modulesLinted", "score"}
    ET.fromstring(ddplint("--output-format=junit", ".", cwd=plain).stdout)  # noqa: S314 - our own output


def test_a_format_in_the_configuration_counts_when_nothing_is_found(plain: Path) -> None:
    (plain / "pyproject.toml").write_text('[tool.pylint]\noutput-format = "json"\n')
    assert json.loads(ddplint(".", cwd=plain).stdout) == []


def test_several_outputs(project: Path) -> None:
    process = ddplint("--output-format=json2:out.json,text", ".", cwd=project)
    assert process.stdout.count("train.py:") == 2
    assert len(json.loads((project / "out.json").read_text())["messages"]) == 2


# Exit status


def test_fail_under_does_not_hide_a_finding(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.pylint]\nfail-under = 0\n")
    assert ddplint(".", cwd=project).returncode == 4
    assert ddplint("--fail-under=0", ".", cwd=project).returncode == 4


def test_exit_zero_is_the_users_choice(project: Path) -> None:
    assert ddplint("--exit-zero", ".", cwd=project).returncode == 0


# Configuration


def test_disabled_rules_stay_disabled(project: Path) -> None:
    (project / "pyproject.toml").write_text(f'[tool.pylint]\ndisable = ["{SAVE}"]\n')
    assert {symbol for _, _, symbol in found(ddplint(JSON, ".", cwd=project))} == {SAMPLER}
    assert {symbol for _, _, symbol in found(ddplint(JSON, f"--enable={SAVE}", ".", cwd=project))} == {SAMPLER, SAVE}


def test_a_rule_is_disabled_on_the_command_line(project: Path) -> None:
    assert {symbol for _, _, symbol in found(ddplint(JSON, "-d", SAVE, ".", cwd=project))} == {SAMPLER}


def test_comments_silence(project: Path) -> None:
    (project / "train.py").write_text(f"# pylint: disable={SAVE},missing-docstring\n{TRAIN}")
    assert {symbol for _, _, symbol in found(ddplint(JSON, ".", cwd=project))} == {SAMPLER}


def test_a_useless_comment_is_told(project: Path) -> None:
    (project / "data.py").write_text(f"X = 1  # pylint: disable={SAVE}\n")
    process = ddplint(JSON, "--enable=useless-suppression", "data.py", cwd=project)
    assert {symbol for _, _, symbol in found(process)} == {"useless-suppression"}


@pytest.mark.parametrize("options", ["", "-j2"])
@pytest.mark.parametrize(
    "setting", ['ignore = ["old"]', 'ignore-patterns = ["^ol"]', 'ignore-paths = ["^old/.*$", "^tree/old/.*$"]']
)
def test_ignored_paths_are_ignored(project: Path, setting: str, options: str) -> None:
    for folder in ("old", "tree/old/deep"):
        (project / folder).mkdir(parents=True)
        (project / folder / "train.py").write_text(TRAIN)
    assert len(found(ddplint(JSON, ".", cwd=project))) == 3 * len(FOUND)
    (project / "pyproject.toml").write_text(f"[tool.pylint.main]\n{setting}\n")
    assert found(ddplint(JSON, *options.split(), ".", cwd=project)) == FOUND


def test_what_is_meant_for_others_is_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.pylint.main]\n"
        'load-plugins = ["no_such_plugin", "pylint.extensions.mccabe", "ddplint"]\n'
        "no-such-option = 1\n"
        "max-line-length = 20\n"
        'disable = ["line-too-long", "no-such-message"]\n'
        'enable = ["missing-docstring"]\n'
    )
    process = ddplint(JSON, ".", cwd=project)
    assert found(process) == FOUND
    assert process.returncode == 4


@pytest.mark.parametrize("options", [["--disable=all"], ["--disable=ddplint"], ["--errors-only"]], ids=" ".join)
def test_a_run_that_could_find_nothing_is_refused(project: Path, options: list[str]) -> None:
    process = ddplint(*options, ".", cwd=project)
    assert process.returncode == 32
    assert process.stdout == ""
    assert process.stderr.count("\n") == 1


# Information


def test_help_is_there(project: Path) -> None:
    process = ddplint("--help", cwd=project)
    assert process.returncode == 0
    assert "usage: ddplint" in process.stdout
    for option in ("--list", "--explain", "--baseline", "--output-format"):
        assert f"\n  {option} " in process.stdout
    process = ddplint(f"--help-msg={SAVE}", cwd=project)
    assert process.returncode == 0
    assert process.stdout.startswith(f":{SAVE} (W7104)")


def test_version_names_ddplint_and_pylint(project: Path) -> None:
    process = ddplint("--version", cwd=project)
    assert process.returncode == 0
    assert process.stdout.splitlines()[0] == f"ddplint {package.__version__}"
    assert process.stdout.splitlines()[1].startswith("pylint ")


# Weight

MODULES = "import sys\n{}\nprint(*sorted(sys.modules))"
MAIN = "from ddplint.command import main\nassert main(['.']) == 0"


def test_a_run_with_nothing_to_do_imports_nothing_of_weight(plain: Path) -> None:
    def modules(code: str) -> set[str]:
        process = run([sys.executable, "-c", MODULES.format(code)], plain)
        assert process.returncode == 0, process.stderr
        return set(process.stdout.split())

    added = {name for name in modules(MAIN) - modules("import os, stat") if not name.startswith("ddplint")}
    assert added <= {"__future__"}


def test_the_statistics_count_the_files(project: Path) -> None:
    process = ddplint(JSON, ".", cwd=project)
    assert json.loads(process.stdout)["statistics"]["modulesLinted"] >= 2
    assert json.loads(process.stdout)["statistics"]["messageTypeCount"]["warning"] == len(messages(process))
