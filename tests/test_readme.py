"""What README.md shows is true: its commands run, its files are valid, its outputs are what is printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import lupa
import pytest
import readme
import yaml
from conftest import DATA, FOUND, SAMPLER, SAVE, TRAIN, found, run
from lsp import Server

from ddplint.rules import RULES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = readme.README.read_text(encoding="utf-8")
BLOCKS = readme.blocks(TEXT)
COMMANDS = [line for block in BLOCKS if block.note == "run" for line in block.text.splitlines()]
ROOT = readme.ROOT


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """A folder with the files that the README shows."""
    folder = tmp_path / "shown"
    (folder / ".git").mkdir(parents=True)
    readme.lay_out(TEXT, folder)
    (folder / "data.py").write_text(DATA)
    return folder


def test_each_block_is_accounted_for() -> None:
    kinds = {(block.language, block.note.partition(":")[0]) for block in BLOCKS}
    checked = {("sh", "run"), ("python", "file"), ("text", "output"), ("toml", "file"), ("yaml", "file")}
    checked |= {("json", "settings"), ("text", "arguments")}
    parsed = {("sh", ""), ("toml", ""), ("yaml", ""), ("lua", "")}
    assert kinds <= checked | parsed | {("sh", "script")}
    assert TEXT.count("```") == 2 * len(BLOCKS)


def test_the_generated_parts_are_up_to_date() -> None:
    assert readme.rewritten(TEXT) == TEXT, "run: python tests/readme.py"


def test_the_table_names_each_rule_and_shows_its_message() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| [`ddp-")]
    assert [row.split("`")[1] for row in rows] == [rule.symbol for rule in RULES]
    for row in rows:
        assert (ROOT / row.partition("](")[2].partition(")")[0]).is_file()


@pytest.mark.parametrize(
    "command", [pytest.param(line, marks=[pytest.mark.long] * line.startswith("ddplint-run")) for line in COMMANDS]
)
def test_the_commands_run(shown: Path, command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    process = run(["bash", "-c", command], shown, PATH=path)
    assert "Traceback" not in process.stderr
    assert "usage:" not in process.stderr
    assert process.returncode < 32
    assert process.stdout


def test_the_command_to_try_finds_something() -> None:
    """It is run as it stands but for the installation, which this environment already is."""
    block = next(block for block in BLOCKS if ".venv/bin/ddplint" in block.text)
    arguments = block.text.strip().rpartition(".venv/bin/ddplint ")[2].split()
    assert block.text.startswith("python -m venv .venv && .venv/bin/pip install . && ")
    process = run([*readme.DDPLINT, *arguments], ROOT)
    assert process.returncode == 4, process.stdout + process.stderr


def test_the_test_command_is_what_ci_runs() -> None:
    block = next(block for block in BLOCKS if "pytest" in block.text)
    ci = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in ci
    assert block.text.strip() == "python -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest"


def test_the_files_are_valid(shown: Path) -> None:
    for block in BLOCKS:
        if block.language == "toml":
            assert "pylint" in tomllib.loads(block.text)["tool"]
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)
        elif block.language == "lua":
            lupa.LuaRuntime().compile(block.text)
        elif block.language == "python":
            compile(block.text, block.note, "exec")
    hook = yaml.safe_load((shown / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]["id"]
    assert hook in [entry["id"] for entry in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]


def steps(text: str) -> list[str]:
    """The commands with ddplint in a file for continuous integration."""
    content = yaml.safe_load(text)
    jobs = content["jobs"].values() if "jobs" in content else [content["ddplint"]]
    commands = [
        line for job in jobs for line in (*job.get("script", ()), *(s.get("run", "") for s in job.get("steps", ())))
    ]
    return [command for command in commands if command.startswith("ddplint ")]


@pytest.mark.parametrize(
    ("file", "schema", "reports"),
    [
        (".github/workflows/ddplint.yml", ["vendor.github-workflows"], ["ddplint.sarif"]),
        (".gitlab-ci.yml", ["vendor.gitlab-ci", "--data-transform=gitlab-ci"], ["code-quality.json", "tests.xml"]),
    ],
)
def test_the_files_for_continuous_integration_are_valid_and_run(
    shown: Path, file: str, schema: list[str], reports: list[str]
) -> None:
    process = run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", *schema, file], shown)
    assert process.returncode == 0, process.stdout + process.stderr
    text = (shown / file).read_text()
    (command,) = steps(text)
    process = run([*readme.DDPLINT, *command.split()[1:]], shown)
    assert process.returncode == 4, process.stderr
    for report in reports:
        assert report in text.partition(command)[2]  # a later step reads it
        assert (shown / report).stat().st_size > 500


def test_the_baseline_silences_what_is_there(shown: Path) -> None:
    (shown / "pyproject.toml").unlink()  # for the configuration shown last
    block = next(block for block in BLOCKS if block.note == "script")
    write, use = (line.split()[1:] for line in block.text.splitlines())
    assert run([*readme.DDPLINT, *write], shown).returncode == 0
    assert run([*readme.DDPLINT, *use], shown).returncode == 0
    (shown / "pyproject.toml").write_text(
        next(b.text for b in BLOCKS if b.text.startswith("[tool.pylint.ddplint]\nbase"))
    )
    assert run([*readme.DDPLINT, "."], shown).returncode == 0
    pylint = ["-m", "pylint", "--load-plugins=ddplint", "--disable=all", "--enable=ddplint", "train.py"]
    assert run([sys.executable, *pylint], shown).returncode == 0


def test_a_part_of_the_project_is_left_out_or_has_its_own_configuration(shown: Path) -> None:
    folder = shown / "experiments"
    folder.mkdir()
    for name in ("train.py", "data.py"):
        (folder / name).write_text((shown / name).read_text())
    (shown / "pyproject.toml").write_text(next(block.text for block in BLOCKS if "ignore-paths" in block.text))
    process = run([*readme.DDPLINT, "."], shown)
    assert "train.py" in process.stdout
    assert "experiments" not in process.stdout
    (folder / "pylintrc").write_text(f"[main]\ndisable={SAVE}\n")
    (command,) = re.findall(r"`ddplint (--rcfile=[^`]*)`", TEXT)
    process = run([*readme.DDPLINT, *command.split()], shown)
    assert SAMPLER in process.stdout
    assert SAVE not in process.stdout
    process = run([*readme.DDPLINT, "."], folder)
    assert SAMPLER in process.stdout
    assert SAVE not in process.stdout
    (shown / "train.py").write_text(f"# pylint: disable={SAVE}\n{(shown / 'train.py').read_text()}")
    process = run([*readme.DDPLINT, "train.py"], shown)
    assert SAMPLER in process.stdout
    assert SAVE not in process.stdout


def test_a_plugin_that_is_not_there_fails_the_run(shown: Path) -> None:
    """The README recommends ``fail-on`` for this."""
    settings = (shown / "pyproject.toml").read_text().replace('"ddplint"', '"ddplint_is_not_here"')
    (shown / "pyproject.toml").write_text(settings)
    (shown / "clean.py").write_text('"""Nothing."""\n')
    command = [sys.executable, "-m", "pylint", "clean.py"]
    process = subprocess.run(command, cwd=shown, capture_output=True, text=True, check=False)
    assert process.returncode == 2, process.stdout


def test_the_silenced_file_is_silent(shown: Path) -> None:
    assert run([*readme.DDPLINT, "silenced.py"], shown).returncode == 0


def _shown(note: str) -> str:
    return next(block.text for block in BLOCKS if block.note == note)


@pytest.fixture
def train(project: Path) -> Path:
    return project / "train.py"


def test_the_settings_of_the_language_server_show_each_finding_once(train: Path, tmp_path: Path) -> None:
    settings = json.loads(_shown("settings: pylsp"))["pylsp"]["plugins"]
    (train.parent / "pylintrc").write_text("[MAIN]\ndisable=all\nenable=ddplint\nload-plugins=ddplint\n")
    with Server(train.parent, settings, log=tmp_path / "log") as server:
        found = [each for each in server.open(train, TRAIN) if each["source"] in ("pylint", "ddplint")]
    assert [each["source"] for each in found] == ["pylint"] * len(FOUND)


def test_the_settings_of_vscode_are_the_extensions_and_load_the_plugin(train: Path) -> None:
    settings = json.loads(_shown("settings: vscode"))
    assert settings.keys() == {"pylint.importStrategy", "pylint.args", "pylint.lintOnChange"}
    command = [sys.executable, "-m", "pylint", *settings["pylint.args"], "--disable=all", "--enable=ddplint"]
    assert found(run([*command, "--output-format=json2", train.name], train.parent)) == FOUND


def test_the_external_tool_prints_what_its_filter_describes(train: Path) -> None:
    arguments = _shown("arguments: pycharm").replace("$FilePath$", str(train)).split()
    process = run([*readme.DDPLINT, *arguments], train.parent)
    lines = [line for line in process.stdout.splitlines() if line.startswith(str(train))]
    assert {int(line.removeprefix(f"{train}:").split(":")[0]) for line in lines} == {line for _, line, _ in FOUND}
    assert all(line.split(":")[2].isdecimal() for line in lines)
