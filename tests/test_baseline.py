"""Known findings are silent, new ones are not, and those that went are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from conftest import DATA, FOUND, PLAIN, SAMPLER, SAVE, TRAIN, ddplint, found, line_of, pylint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Process

JSON = "--output-format=json2"
KNOWN = "known.json"
SAVING = '    torch.save(model.state_dict(), "model.pt")\n'
GONE = (
    f"ddplint: known and no longer found: train.py: {SAVE} in main: "
    'torch.save(model.state_dict(),"model.pt")\n'
)  # fmt: skip


def by_command(*arguments: str, cwd: Path, stdin: str | None = None) -> Process:
    return ddplint(JSON, *arguments, cwd=cwd, stdin=stdin)


def by_pylint(*arguments: str, cwd: Path, stdin: str | None = None) -> Process:
    return pylint(JSON, "--recursive=y", *arguments, cwd=cwd, stdin=stdin)


ENTRIES = pytest.mark.parametrize(
    ("check", "jobs"),
    [(by_command, "-j1"), (by_command, "-j2"), (by_pylint, "-j2")],
    ids=["ddplint", "ddplint -j2", "pylint -j2"],
)


@pytest.fixture
def adopted(project: Path) -> Path:
    """The project with a baseline of its two findings."""
    assert ddplint(f"--write-baseline={KNOWN}", ".", cwd=project).returncode == 0
    return project


def edit(project: Path, change: Callable[[str], str]) -> None:
    path = project / "train.py"
    path.write_text(change(path.read_text()))


@ENTRIES
def test_it_is_written_in_place_of_a_report(project: Path, check: Callable[..., Process], jobs: str) -> None:
    process = check(jobs, f"--write-baseline={KNOWN}", ".", cwd=project)
    assert (process.returncode, found(process)) == (0, set())
    assert process.stderr == f"ddplint: {KNOWN}: 2 known findings (2 added, 0 removed)\n"
    content = json.loads((project / KNOWN).read_text())
    assert content == {
        "version": 1,
        "findings": [
            {
                "path": "train.py",
                "rule": SAMPLER,
                "in": "main",
                "text": "loader=DataLoader(build_dataset(),batch_size=32,shuffle=True)",
            },
            {"path": "train.py", "rule": SAVE, "in": "main", "text": 'torch.save(model.state_dict(),"model.pt")'},
        ],
    }


@ENTRIES
def test_old_findings_are_silent_and_new_ones_are_not(adopted: Path, check: Callable[..., Process], jobs: str) -> None:
    process = check(jobs, f"--baseline={KNOWN}", ".", cwd=adopted)
    assert (process.returncode, found(process), process.stderr) == (0, set(), "")
    edit(adopted, lambda text: "# Copyright\n\n" + text.replace(SAVING, SAVING * 2))
    process = check(jobs, f"--baseline={KNOWN}", ".", cwd=adopted)
    assert found(process) == {("train.py", 3 + line_of("torch.save("), SAVE)}
    assert (process.returncode, process.stderr) == (4, "")


@ENTRIES
def test_what_went_is_told(adopted: Path, check: Callable[..., Process], jobs: str) -> None:
    edit(adopted, lambda text: text.replace(SAVING, ""))
    process = check(jobs, f"--baseline={KNOWN}", ".", cwd=adopted)
    assert (process.returncode, found(process), process.stderr) == (0, set(), GONE)
    process = check(jobs, f"--baseline={KNOWN}", "data.py", cwd=adopted)
    assert (process.returncode, process.stderr) == (0, "")  # the other file was not checked
    process = check(jobs, f"--baseline={KNOWN}", f"--disable={SAVE}", ".", cwd=adopted)
    assert (process.returncode, process.stderr) == (0, "")  # nor the other rule


def test_what_went_with_the_last_trace_of_ddp_is_told(adopted: Path) -> None:
    (adopted / "train.py").write_text(PLAIN)
    process = ddplint(f"--baseline={KNOWN}", ".", cwd=adopted)
    assert (process.returncode, process.stdout) == (0, "")
    assert process.stderr.endswith(GONE)
    assert process.stderr.count("\n") == 2
    (adopted / "train.py").unlink()
    assert ddplint(f"--baseline={KNOWN}", ".", cwd=adopted).stderr.endswith(GONE)


@ENTRIES
def test_a_file_that_cannot_be_parsed_was_not_checked(adopted: Path, check: Callable[..., Process], jobs: str) -> None:
    edit(adopted, lambda text: text + "\ndef (:\n")
    known = (adopted / KNOWN).read_text()
    process = check(jobs, f"--baseline={KNOWN}", "--enable=syntax-error", ".", cwd=adopted)
    assert ({symbol for *_, symbol in found(process)}, process.stderr) == ({"syntax-error"}, "")
    check(jobs, f"--write-baseline={KNOWN}", ".", cwd=adopted)
    assert (adopted / KNOWN).read_text() == known


def test_it_shrinks_and_keeps_what_was_not_checked(adopted: Path) -> None:
    (adopted / "sub").mkdir()
    (adopted / "sub" / "train.py").write_text(TRAIN)
    (adopted / "sub" / "data.py").write_text(DATA)
    edit(adopted, lambda text: text.replace(SAVING, ""))
    process = ddplint(f"--write-baseline={KNOWN}", "sub", cwd=adopted)
    assert process.stderr == f"ddplint: {KNOWN}: 4 known findings (2 added, 0 removed)\n"
    process = ddplint(f"--write-baseline={KNOWN}", ".", cwd=adopted)
    assert process.stderr == f"ddplint: {KNOWN}: 3 known findings (0 added, 1 removed)\n"
    paths = [entry["path"] for entry in json.loads((adopted / KNOWN).read_text())["findings"]]
    assert paths == ["sub/train.py", "sub/train.py", "train.py"]


def test_a_comment_counts_more_than_the_baseline(project: Path) -> None:
    edit(project, lambda text: text.replace(SAVING, f"{SAVING.rstrip()}  # pylint: disable={SAVE}\n"))
    ddplint(f"--write-baseline={KNOWN}", ".", cwd=project)
    assert [entry["rule"] for entry in json.loads((project / KNOWN).read_text())["findings"]] == [SAMPLER]
    process = ddplint(JSON, f"--baseline={KNOWN}", "--enable=useless-suppression", ".", cwd=project)
    assert (process.returncode, found(process), process.stderr) == (0, set(), "")


@pytest.mark.parametrize("check", [by_command, by_pylint])
def test_it_is_named_in_the_configuration(adopted: Path, check: Callable[..., Process]) -> None:
    (adopted / "pyproject.toml").write_text(f'[tool.pylint.ddplint]\nbaseline = "{KNOWN}"\n')
    edit(adopted, lambda text: text.replace(SAVING, SAVING * 2))
    expected = {("train.py", line_of("torch.save(") + 1, SAVE)}
    assert found(check(".", cwd=adopted)) == expected
    (adopted / "sub").mkdir()
    process = check("../train.py", cwd=adopted / "sub")
    assert {(line, symbol) for _, line, symbol in found(process)} == {place[1:] for place in expected}
    (adopted / "train.py").write_text(PLAIN)
    assert check("train.py", cwd=adopted).stderr.endswith(GONE)


@pytest.mark.parametrize("check", [by_command, by_pylint])
def test_an_editor_sees_the_new_ones_alone(adopted: Path, check: Callable[..., Process]) -> None:
    unsaved = TRAIN.replace("shuffle=True", "shuffle=False")
    process = check(f"--baseline={KNOWN}", "--from-stdin", "train.py", cwd=adopted, stdin=unsaved)
    assert found(process) == {("train.py", line_of("DataLoader("), SAMPLER)}
    assert process.stderr == ""


BROKEN = {
    "no JSON": b"findings",
    "another JSON": b"[1]",
    "a later version": b'{"version": 2, "findings": []}',
    "a list of other things": b'{"version": 1, "findings": [{"path": 1}]}',
    "too deep": b"[" * 100_000,
    "no UTF-8": b"\xff\xfe{",
}


@ENTRIES
def test_one_that_is_missing_costs_one_line(project: Path, check: Callable[..., Process], jobs: str) -> None:
    process = check(jobs, "--baseline=no/such.json", ".", cwd=project)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr == "ddplint: no/such.json: No such file or directory\n"


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_one_that_is_broken_costs_one_line(project: Path, content: bytes) -> None:
    (project / KNOWN).write_bytes(content)
    process = ddplint(f"--baseline={KNOWN}", ".", cwd=project)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr.startswith(f"ddplint: {KNOWN}: not a baseline")
    assert process.stderr.count("\n") == 1
    assert len(process.stderr) < 250


@pytest.mark.parametrize("name", ["train.py", "no/such.json"])
def test_one_that_cannot_be_written_costs_one_line(project: Path, name: str) -> None:
    process = ddplint(f"--write-baseline={name}", ".", cwd=project)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr.startswith(f"ddplint: {name}: ")
    assert process.stderr.count("\n") == 1
    assert (project / "train.py").read_text() == TRAIN


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_device_is_no_baseline(project: Path, option: str) -> None:
    process = ddplint(f"{option}=/dev/zero", ".", cwd=project)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr == "ddplint: /dev/zero: not a regular file\n"


def test_what_is_told_of_it_is_one_line_that_commands_nothing(project: Path) -> None:
    entry = {"path": "train.py", "rule": SAVE, "in": "a\nb", "text": "\x1b[31mx"}
    (project / KNOWN).write_text(json.dumps({"version": 1, "findings": [entry]}))
    process = ddplint(f"--baseline={KNOWN}", ".", cwd=project)
    mark = "\N{REPLACEMENT CHARACTER}"
    assert process.stderr == f"ddplint: known and no longer found: train.py: {SAVE} in a{mark}b: {mark}[31mx\n"


def test_all_of_the_findings_of_the_file_count(adopted: Path) -> None:
    """The baseline knows files by their place, so that one name in two folders is two files."""
    (adopted / "other" / ".git").mkdir(parents=True)
    (adopted / "other" / "train.py").write_text(TRAIN)
    (adopted / "other" / "data.py").write_text(DATA)
    process = ddplint(JSON, f"--baseline={KNOWN}", ".", cwd=adopted)
    assert found(process) == {(f"other/{path}", line, symbol) for path, line, symbol in FOUND}
