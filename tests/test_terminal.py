"""What a person at a terminal sees; the terminal is a real pseudo-terminal."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import ddplint, on_terminal

from ddplint.pages import page

if TYPE_CHECKING:
    from pathlib import Path

DDPLINT = [sys.executable, "-m", "ddplint"]

HEAD = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
"""
REST = """\
loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
for inputs, targets in loader:
    torch.nn.functional.mse_loss(model(inputs), targets).backward()
"""


def plain(text: str) -> str:
    """``text`` without colours and progress."""
    return re.sub(r"\x1b\[[0-9;]*m|\r\x1b\[K[^\r\n]*(?=\r)|\r\x1b\[K", "", text)


def underlined(text: str) -> list[tuple[str, str]]:
    """What stands over each row of carets, and the words beside the carets."""
    lines = text.splitlines()
    found = []
    for above, line in itertools.pairwise(lines):
        if match := re.fullmatch(r" *\| ( *)(\^+) ?(.*)", line):
            start = line.index("^")
            found.append((above[start : start + len(match[2])], match[3]))
    return found


def write(folder: Path, save: str, model: str = "model = DistributedDataParallel(torch.nn.Linear(8, 1))\n") -> None:
    (folder / ".git").mkdir(exist_ok=True)
    dataset = "dataset = torch.utils.data.TensorDataset(torch.zeros(8, 8), torch.zeros(8, 1))\n"
    (folder / "train.py").write_text(HEAD + model + dataset + REST + save, encoding="utf-8")


def test_a_finding_is_shown_with_its_line_and_the_other_places(project: Path) -> None:
    status, said = on_terminal([*DDPLINT, "."], project)
    assert status == 4
    text = plain(said)
    assert ("DataLoader", "") in underlined(text)
    assert ("DistributedDataParallel", "the model is wrapped here") in underlined(text)
    assert re.search(r"^train\.py:\d+:\d+: W7101 ddp-missing-distributed-sampler$", text, re.MULTILINE)
    assert re.search(r"\n\n2 findings in 2 files \(\d+\.\d s\)\n$", text)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b[1;31m^" in said


def test_another_file_is_named_over_its_line(tmp_path: Path) -> None:
    write(tmp_path, "from saving import keep\nkeep(model.module)\n")
    (tmp_path / "saving.py").write_text("import torch\n\n\ndef keep(model):\n    torch.save(model, 'model.pt')\n")
    text = plain(on_terminal([*DDPLINT, "saving.py"], tmp_path)[1])
    assert re.search(r"^ *train\.py:7\n *7 \| model = Dist.*\n *\| +\^+ the model is wrapped here$", text, re.MULTILINE)
    assert "1 finding in 1 file (" in text


def test_nothing_found_is_said_on_a_terminal_alone(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    status, said = on_terminal([*DDPLINT, "."], tmp_path)
    assert (status, said[: said.index("(")]) == (0, "No findings in 1 file ")
    assert ddplint(".", cwd=tmp_path).stdout == ""


def test_a_pipe_gets_the_plain_lines(project: Path) -> None:
    lines = ddplint(".", cwd=project).stdout.splitlines()
    assert lines[0] == "************* Module train"
    assert [line.split(":")[0] for line in lines[1:]] == ["train.py", "train.py"]


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_no_colour_where_none_is_wanted(project: Path, variable: str) -> None:
    said = on_terminal([*DDPLINT, "."], project, **{variable: "1" if variable == "NO_COLOR" else "dumb"})[1]
    assert "\x1b[1" not in said
    assert ("^^^^^^^^^^" in said) == (variable == "NO_COLOR")  # a terminal that cannot draw gets the plain lines


@pytest.mark.parametrize("how", ["option", "configuration", "template"])
def test_a_format_that_was_asked_for_is_kept(project: Path, how: str) -> None:
    options = {"option": ["--output-format=text"], "template": ["--msg-template={path}:{line}: {symbol}"]}.get(how, [])
    if how == "configuration":
        (project / "pyproject.toml").write_text('[tool.pylint.main]\noutput-format = "text"\n')
    said = on_terminal([*DDPLINT, *options, "."], project)[1]
    assert "^^^" not in said
    assert re.search(r"^train\.py:\d+:.*ddp-missing-distributed-sampler", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("save", "token"),
    [
        ("if True:\n\ttorch.save(model.module, 'model.pt')\n", "torch.save"),
        ("名前 = '重み'; torch.save(model.module, 名前)\n", "torch.save"),
        (f"x = [{'1, ' * 60}]; torch.save(model.module, 'model.pt')  # {'long ' * 40}\n", "torch.save"),
    ],
    ids=["tab", "wide characters", "long line"],
)
def test_the_carets_stand_under_the_token(tmp_path: Path, save: str, token: str) -> None:
    write(tmp_path, save)
    text = plain(on_terminal([*DDPLINT, "."], tmp_path)[1])
    wide = "".join(character * (1 + (character > "\u1100")) for character in text)  # as many columns as on screen
    assert underlined(wide)[0] == (token, "")
    assert all(len(line) <= 80 for line in wide.splitlines())


def test_what_stands_in_a_file_does_not_command_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, "torch.save(model.module, 'a\x1b]0;title\x07\x1b[2Jb\u202e.pt')\n")
    said = on_terminal([*DDPLINT, "."], tmp_path)[1]
    assert "\ufffd]0;title\ufffd\ufffd[2Jb\ufffd" in said
    assert not {"\x1b]", "\x1b[2J", "\x07", "\u202e"}.intersection(re.findall(r"\x1b\[2J|\x1b\]|\x07|\u202e", said))


def test_text_from_standard_input_is_quoted_as_it_was_given(tmp_path: Path) -> None:
    write(tmp_path, "torch.save(model.module, 'model.pt')\n")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text("x = 1\n")
    said = ddplint("--from-stdin", "-f", "terminal", "train.py", cwd=tmp_path, stdin=text).stdout
    assert underlined(said)[0] == ("torch.save", "")
    assert "12 | torch.save(model.module" in said


def test_progress_shows_after_a_second_and_goes_away(tmp_path: Path) -> None:
    script = (
        "import time\nfrom ddplint.screen import Progress\nprogress = Progress(3)\nprogress.advance()\n"
        "time.sleep(1.1)\nprogress.advance()\nprogress.end()\n"
    )
    assert on_terminal([sys.executable, "-c", script], tmp_path) == (0, "\r\x1b[K2 of 3 files\r\x1b[K")
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (process.stdout, process.stderr) == (b"", b"")


def test_a_name_of_a_file_does_not_command_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, 'torch.save(model.module.state_dict(), "model.pt")\n')
    (tmp_path / "train.py").rename(tmp_path / "a\nb\x1b[31m.py")
    _, said = on_terminal([*DDPLINT, "."], tmp_path, NO_COLOR="1")
    mark = "\N{REPLACEMENT CHARACTER}"
    assert said.startswith(f"a{mark}b{mark}[31m.py:")


def test_a_page_is_shown_on_a_terminal_that_knows_ascii_alone(tmp_path: Path) -> None:
    status, said = on_terminal([*DDPLINT, "--explain", "W7104"], tmp_path, PYTHONIOENCODING="ascii")
    assert (status, said) == (0, page("ddp-unguarded-save").text)
