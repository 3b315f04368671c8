"""In editors: python-lsp-server with ddplint's plugin or with its own for pylint, and what VS Code's extension runs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from conftest import DATA, FOUND, PLAIN, SAMPLER, SAVE, TRAIN, ddplint, line_of, run
from lsp import Server

if TYPE_CHECKING:
    from pathlib import Path

QUIET = {name: {"enabled": False} for name in ("pycodestyle", "pyflakes", "mccabe", "flake8", "preload")}
ONLY_PYLINT = {**QUIET, "ddplint": {"enabled": False}}
CURED = TRAIN.replace('torch.save(model.state_dict(), "model.pt")', "pass").replace(
    "DataLoader(build_dataset()", "DataLoader(build_dataset(dist.get_rank())"
)
SHARDED = DATA.replace("def build_dataset():", "def build_dataset(rank=0):").replace(
    "return TensorDataset(torch.randn(256, 8), torch.randint(2, (256,)))",
    "everything = TensorDataset(torch.randn(256, 8), torch.randint(2, (256,)))\n"
    "    return torch.utils.data.Subset(everything, range(rank, 256, 4))",
)
Diagnostics = list[dict[str, Any]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def shown(diagnostics: Diagnostics) -> set[tuple[str, int]]:
    """Symbol and line, from 1, of the diagnostics, and of no others than ddplint's."""
    return {(each["code"].partition(":")[2], each["range"]["start"]["line"] + 1) for each in diagnostics}


def underlined(diagnostic: dict[str, Any], text: str) -> str:
    """What an editor underlines, which counts in UTF-16."""
    start, end = (diagnostic["range"][side] for side in ("start", "end"))
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    assert start["line"] == end["line"]
    return lines[start["line"]][2 * start["character"] : 2 * end["character"]].decode("utf-16-le")


EXPECTED = {(symbol, line) for _, line, symbol in FOUND}


def test_findings_come_and_go_while_the_text_is_edited(project: Path, log: Path) -> None:
    train, data = project / "train.py", project / "data.py"
    with Server(project, QUIET, cwd=log.parent, log=log) as server:
        found = server.open(train, TRAIN)
        assert shown(found) == EXPECTED
        assert {underlined(each, TRAIN) for each in found} == {"DataLoader", "torch.save"}
        assert {(each["source"], each["severity"]) for each in found} == {("ddplint", 2)}
        assert {each["code"].partition(":")[0] for each in found} == {"W7101", "W7104"}
        # what is typed counts at once
        without = TRAIN.replace("torch.save", "print")
        assert shown(server.change(train, without)) == EXPECTED - {(SAVE, line_of("torch.save("))}
        # text that is no Python has no findings for the moment, and hides none in other files
        assert server.change(train, without + "if\n") == []
        assert shown(server.change(train, "\n" + TRAIN)) == {(symbol, line + 1) for symbol, line in EXPECTED}
        # so does what stands in another file, saved
        train.write_text(CURED)
        assert shown(server.change(train, CURED)) == {(SAMPLER, line_of("DataLoader(", CURED))}
        data.write_text(SHARDED)
        assert shown(server.save(train)) == set()
        data.write_text(DATA)
        assert shown(server.save(train)) != set()
        # or not
        assert server.open(data, SHARDED) == []
        assert shown(server.save(train)) == set()
        server.close(data)
        assert shown(server.save(train)) != set()
    assert "ERROR" not in server.log


def test_columns_and_other_places_are_those_of_the_editor(project: Path, log: Path) -> None:
    """Columns count UTF-16's units, and a comment in one file is right for another."""
    text = TRAIN.replace("    torch.save(", '    print("\N{SNAKE} ü"); torch.save(')
    train = project / "train.py"
    with Server(project, QUIET, log=log) as server:
        found = {each["code"].partition(":")[2]: each for each in server.open(train, text)}
        assert {underlined(each, text) for each in found.values()} == {"DataLoader", "torch.save"}
        assert found[SAVE]["range"]["start"]["character"] == len('    print("xx ü"); ')
        for each in found.values():
            for related in each["relatedInformation"]:
                assert related["location"]["uri"] == train.as_uri()
        wrap = found[SAVE]["relatedInformation"][0]
        assert wrap["message"] == "the model is wrapped here"
        assert underlined(wrap["location"], text) == "DistributedDataParallel"


def test_the_configuration_and_comments_count_as_for_the_command(project: Path, log: Path) -> None:
    (project / "new.json").write_text("old")
    train, settings = project / "train.py", project / "pyproject.toml"
    hushed = TRAIN.replace('"model.pt")', f'"model.pt")  # pylint: disable={SAVE}')
    (project / "tools").mkdir()
    with Server(project, QUIET, cwd=log.parent, log=log) as server:
        assert shown(server.open(train, hushed)) == {(SAMPLER, line_of("DataLoader("))}
        settings.write_text(f'[tool.pylint]\ndisable = ["{SAMPLER}"]\noutput-format = "json:report.json"\n')
        assert shown(server.change(train, TRAIN)) == {(SAVE, line_of("torch.save("))}
        assert not (log.parent / "report.json").exists()
        assert not (project / "report.json").exists()
        settings.write_text('[tool.pylint]\nignore-paths = ["^tools/.*$"]\n')
        assert server.open(project / "tools" / "train.py", TRAIN) == []
        assert shown(server.change(train, TRAIN)) == EXPECTED
        command = ["--write-baseline=known.json", "--disable", SAVE, "."]
        train.write_text(TRAIN)
        ddplint(*command, cwd=project)
        settings.write_text('[tool.pylint.ddplint]\nbaseline = "known.json"\n')
        assert shown(server.change(train, "\n" + TRAIN)) == {(SAVE, line_of("torch.save(") + 1)}
        (project / "known.json").write_text('{"version": 1, "findings": []}')
        assert shown(server.change(train, TRAIN)) == EXPECTED
        assert "ERROR" not in server.log
        settings.write_text('[tool.pylint.ddplint]\nwrite-baseline = "new.json"\n')
        assert server.change(train, TRAIN + "\n") == []
        assert (project / "new.json").read_text() == "old"
        settings.write_text('[tool.pylint.ddplint]\nddp-one-rank-savers = "plain"\n')
        assert server.change(train, TRAIN + "\n") == []
        assert server.change(train, TRAIN) == []
        settings.write_text("[tool.pylint")
        assert shown(server.change(train, TRAIN)) == EXPECTED
    errors = [line.partition("ddplint: ")[2] for line in server.log.splitlines() if "ERROR" in line]
    assert len(errors) == 3, server.log
    assert "write-baseline is for the command line" in errors[0]
    assert "'plain' is not a dotted name" in errors[1]
    assert "Failed to load 'pyproject.toml'" in errors[2]


BROKEN = """\
from ddplint.{module} import {name}

answer = {name}.{method}


def broken(self, path, *rest):
    if "fail now" in open(path).read():
        raise ValueError("this is\\nunexpected")
    return answer(self, path, *rest)


{name}.{method} = broken
"""


@pytest.mark.parametrize("place", ["analysis Analysis findings", "session Session messages"])
def test_a_mistake_of_ours_ends_nothing(project: Path, log: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, method = place.split()
    (log.parent / "site").mkdir()
    (log.parent / "site" / "sitecustomize.py").write_text(BROKEN.format(module=module, name=name, method=method))
    monkeypatch.setenv("PYTHONPATH", str(log.parent / "site"), prepend=":")
    monkeypatch.setenv("DDPLINT_DEBUG", "")
    train = project / "train.py"
    is_told = module == "analysis"  # as everywhere
    with Server(project, QUIET, log=log, capabilities={}) as server:
        train.write_text("# fail now\n")
        assert shown(server.open(train, TRAIN)) == ({("ddp-internal-error", 1)} if is_told else set())
        train.write_text("")
        found = server.change(train, TRAIN)
        assert shown(found) == EXPECTED
        assert not any("relatedInformation" in each for each in found)  # the editor has not asked for it
    assert server.log.count("ddplint: ValueError: this is unexpected") == (not is_told), server.log


def test_what_is_no_file_is_left_alone(project: Path, log: Path) -> None:
    cells = [{"kind": 2, "document": f"vscode-notebook-cell:{project}/train.ipynb#{number}"} for number in (1, 2)]
    documents = [{"uri": cell["document"], "languageId": "python", "version": 1, "text": TRAIN} for cell in cells]
    with Server(project, QUIET, log=log) as server:
        notebook = {"uri": (project / "train.ipynb").as_uri(), "notebookType": "x", "version": 1, "cells": cells}
        server.notify("notebookDocument/didOpen", notebookDocument=notebook, cellTextDocuments=documents)
        assert shown(server.open(project / "plain.py", PLAIN)) == set()
        assert shown(server.open(project / "train.py", TRAIN)) == EXPECTED
    assert "ERROR" not in server.log


def test_the_servers_own_plugin_for_pylint_shows_what_is_saved(project: Path, log: Path) -> None:
    arguments = ["--load-plugins=ddplint", "--disable=all", "--enable=ddplint"]
    settings = {**ONLY_PYLINT, "pylint": {"enabled": True, "args": arguments}}
    train = project / "train.py"
    with Server(project, settings, log=log) as server:
        found = server.open(train, TRAIN)
        assert {(each["source"], each["code"], each["range"]["start"]["line"] + 1) for each in found} == {
            ("pylint", "W7101", line_of("DataLoader(")),
            ("pylint", "W7104", line_of("torch.save(")),
        }
        assert all(each["message"].startswith("[ddp-") for each in found)
        train.write_text(CURED)
        assert server.change(train, CURED)
        assert {each["code"] for each in server.save(train)} == {"W7101"}
        (project / "data.py").write_text(SHARDED)
        assert server.save(train) == []
    assert "ERROR" not in server.log


# What microsoft/vscode-pylint runs, from the folder that is open: TOOL_ARGS, the setting pylint.args, what pylint is
# new enough for, and the resolved path, with the text on standard input (bundled/tool/lsp_server.py).
TOOL = ["--reports=n", "--output-format=json2"]
SET = {"pylint": ["--load-plugins=ddplint", "--disable=all", "--enable=ddplint"], "ddplint": []}
NEW = ["--clear-cache-post-run=y"]


@pytest.mark.parametrize("module", ["pylint", "ddplint"])
@pytest.mark.parametrize("inside", [True, False], ids=["from the folder", "from elsewhere"])
def test_what_the_extension_of_vscode_runs(project: Path, tmp_path: Path, module: str, *, inside: bool) -> None:
    train = project / "train.py"
    train.write_text("print('not saved yet')\n")
    (project / "data.py").write_text(DATA)
    command = [sys.executable, "-m", module, *TOOL, *SET[module], *NEW, "--from-stdin", str(train.resolve())]
    process = run(command, project if inside else tmp_path, stdin=TRAIN)
    report = json.loads(process.stdout)
    assert process.stderr == ""
    # the fields that its _parse_output reads
    lines = TRAIN.split("\n")
    marked = {
        (each["messageId"], each["symbol"], each["type"], lines[each["line"] - 1][each["column"] : each["endColumn"]])
        for each in report["messages"]
        if each["line"] == each["endLine"]
    }
    assert marked == {
        ("W7101", SAMPLER, "warning", "DataLoader"),
        ("W7104", SAVE, "warning", "torch.save"),
    }
    assert "score" in report["statistics"]
    assert len(report["messages"]) == len(marked)
