"""Whatever ddplint is given: one clear line, an honest exit status, no traceback, and the other findings kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FOUND, TRAIN, ddplint, found, messages, run

JSON = "--output-format=json2"
WRAP = "from torch.nn.parallel import DistributedDataParallel\n"
UNPARSABLE = {
    "syntax error": f"{WRAP}def f(:\n".encode(),
    "python 2": f'{WRAP}print "loss"\n'.encode(),
    "latin-1": f"{WRAP}# caf\xe9\n".encode("latin-1"),
    "unknown encoding": b"# -*- coding: no-such -*-\n" + WRAP.encode(),
    "nul bytes": f"{WRAP}x = 1\0\n".encode(),
    "brackets": f"{WRAP}x = {'(' * 400}1{')' * 400}\n".encode(),
    "indentation": (WRAP + "".join(f"{' ' * depth}if x:\n" for depth in range(400))).encode(),
}
DEEP = {
    "terms": f"x = {' + '.join(['1'] * 5000)}\n",
    "calls": f"x = a{'.b()' * 2000}\n",
    "branches": "if x:\n    pass\n" + "".join(f"elif x == {n}:\n    pass\n" for n in range(1500)),
    "lines": "x = 1\n" * 15_000,
    "blocks": "".join(f"{' ' * depth}if x:\n" for depth in range(90)) + " " * 90 + "pass\n",
    "powers": "import torch.distributed\nx = torch.distributed.get_rank() + 3\n" + "x = x * x\n" * 60,
    "widths": "import torch.distributed\nx = torch.distributed.get_rank()\n"
    + "y = '%.1000000000f' % x, str(x) * 1000000000, '%1000000000s' % 'a', '{:>1000000000}'.format('a')\n" * 20,
    "doubled": "import os\nx = y = z = 'a'\n"
    + "x = os.path.join(x, x)\ny = y.replace('a', 'aa')\nz = '{0}{0}'.format(z)\n" * 60,
}


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize("source", UNPARSABLE.values(), ids=UNPARSABLE.keys())
def test_a_file_that_cannot_be_parsed(project: Path, source: bytes, jobs: str) -> None:
    (project / "broken.py").write_bytes(source)
    process = ddplint(JSON, jobs, ".", cwd=project)
    assert process.stderr == ""
    ours = {message for message in found(process) if message[2].startswith("ddp-")}
    assert ours == FOUND
    (other,) = [m for m in messages(process) if not m["symbol"].startswith("ddp-")]
    assert other["path"] == "broken.py"
    assert other["symbol"] in ("syntax-error", "parse-error")
    assert "\n" not in other["message"]
    assert process.returncode in (4 | 1, 4 | 2)


def test_a_named_file_that_cannot_be_parsed(project: Path) -> None:
    (project / "broken.py").write_text("def f(:\n")
    process = ddplint("broken.py", cwd=project)
    assert process.stdout.count("\n") == 2  # the module's name and the error
    assert process.returncode == 2


@pytest.mark.parametrize(
    "source", [b"def f(:\n", "x = 1\n".encode("utf-16"), b"x = 1\0\n"], ids=["syntax", "utf-16", "nul"]
)
def test_a_named_file_that_cannot_be_parsed_where_nothing_concerns_ddp(tmp_path: Path, source: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "broken.py").write_bytes(source)
    (tmp_path / "whole.py").write_text("x = 1\n")
    process = ddplint("broken.py", "whole.py", cwd=tmp_path)
    assert process.stdout.count("\n") == 2  # the module's name and the error
    assert process.returncode in (1, 2)
    assert process.stderr == ""


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP.keys())
def test_deep_and_long_files(project: Path, source: str, jobs: str) -> None:
    (project / "train.py").write_text(TRAIN + source)
    process = ddplint(JSON, jobs, ".", cwd=project)
    assert process.stderr == ""
    assert found(process) == FOUND
    (project / "train.py").write_text(TRAIN)
    (project / "deep.py").write_text(WRAP + source)
    process = ddplint(JSON, jobs, ".", cwd=project)
    assert process.stderr == ""
    assert found(process) == FOUND


def test_paths_that_are_not_there(project: Path) -> None:
    (project / "broken_link.py").symlink_to("nowhere")
    (project / "loop").symlink_to("loop")
    (project / "empty").mkdir()
    os.mkfifo(project / "pipe.py")
    bad = {
        "missing.py": "No such file or directory",
        "broken_link.py": "No such file or directory",
        "loop": "Too many levels of symbolic links",
        "pipe.py": "not a regular file",
        "empty": "no Python file in this folder",
    }
    for path, reason in bad.items():
        process = ddplint(path, cwd=project)
        assert (process.returncode, process.stdout, process.stderr) == (32, "", f"ddplint: {path}: {reason}\n")
    process = ddplint(JSON, *bad, "train.py", cwd=project)
    assert found(process) == FOUND
    assert process.returncode == 32 | 4
    assert process.stderr.count("\n") == len(bad)


def test_odd_things_in_a_folder_are_passed_over(project: Path) -> None:
    (project / ".#train.py").symlink_to("somebody@somewhere.1234")
    (project / "loop").symlink_to("loop")
    (project / "loop.py").symlink_to("loop.py")
    (project / "through_a_file.py").symlink_to("train.py/data.py")
    (project / "up").symlink_to("..")
    os.mkfifo(project / "pipe.py")
    (project / "folder.py").mkdir()
    (project / "folder.py" / "train.py").write_text(TRAIN)
    process = ddplint(JSON, ".", cwd=project)
    assert process.stderr == ""
    assert {path for path, _, _ in found(process)} == {"train.py", "folder.py/train.py"}


@pytest.mark.parametrize("arguments", [["."], ["secret.py", "train.py", "data.py"], ["-j2", "."]], ids=" ".join)
def test_a_file_that_may_not_be_read(project: Path, arguments: list[str]) -> None:
    secret = project / "secret.py"
    secret.write_text(TRAIN)
    secret.chmod(0)
    command = [sys.executable, "-m", "ddplint", JSON, *arguments]
    if os.access(secret, os.R_OK):  # root may read all: become somebody else
        for folder in (project, *project.parents[:3]):
            folder.chmod(0o755)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    process = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert "Permission denied" in process.stderr.partition("secret.py")[2], process.stderr
    assert found(process) == FOUND
    assert process.stderr.count("\n") == 1
    assert process.returncode == 32 | 4


@pytest.mark.parametrize("content", [b"[tool.pylint\n", b"\xff\xfe"], ids=["syntax", "encoding"])
def test_a_broken_configuration(project: Path, content: bytes) -> None:
    (project / "pyproject.toml").write_bytes(content)
    process = ddplint(JSON, ".", cwd=project)
    assert found(process) == FOUND
    assert process.stderr.count("\n") == 1
    assert process.stderr.startswith("ddplint: ")
    assert process.returncode == 32 | 4


@pytest.mark.parametrize(
    ("arguments", "configured", "said"),
    [
        (["--disable=ddp-typo,no-such"], "", "command line: --disable names no rule: ddp-typo"),
        (["--enable=ALL"], "", "command line: --enable names no rule: ALL"),
        ([], 'disable = ["ddp-typo", "no-such"]', "pyproject.toml: --disable names no rule: ddp-typo"),
    ],
    ids=["option", "capitals", "configuration"],
)
def test_a_rule_that_there_is_not(project: Path, arguments: list[str], configured: str, said: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.pylint.main]\n{configured}\n")
    process = ddplint(JSON, *arguments, ".", cwd=project)
    assert found(process) == FOUND
    assert process.stderr == f"ddplint: {said} (ddplint --list shows them all)\n"
    assert process.returncode == 32 | 4


@pytest.mark.parametrize("content", ["tool = 3\n", "[tool]\npylint = 3\n"])
def test_a_configuration_of_another_shape(project: Path, content: str) -> None:
    (project / "pyproject.toml").write_text(content)
    process = ddplint(".", cwd=project)
    assert process.stderr.startswith("ddplint: pylint cannot read its configuration: ")
    assert process.stderr.count("\n") == 1
    assert process.returncode == 32


WRONG = {
    "no path": [],
    "no path but options": ["-j2"],
    "unknown option": ["--no-such-option", "."],
    "bad number": ["-j", "many", "."],
    "unknown format": ["--output-format=no-such", "."],
    "unwritable output": ["--output-format=json:no/such/folder.json", "."],
    "missing configuration": ["--rcfile=no-such-file", "."],
    "two names": ["--from-stdin", "train.py", "data.py"],
    "folder's name": ["--from-stdin", "."],
    "open brace in a template": ["--msg-template={path}:{", "."],
    "unknown name in a template": ["--msg-template={line:05d} {what}", "."],
    "baseline to write in a configuration": ["--rcfile=writes.toml", "."],
    "contradiction": ["--enable=all", "--disable=all", "."],
    "no file": ["--ddp-rank-predicates=a.b"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG.keys())
def test_wrong_use(project: Path, arguments: list[str]) -> None:
    (project / "writes.toml").write_text('[tool.pylint.ddplint]\nwrite-baseline = "known.json"\n')
    process = ddplint(*arguments, cwd=project, stdin=TRAIN)
    assert process.returncode == 32
    assert process.stdout == ""
    lines = [line for line in process.stderr.splitlines() if not line.startswith("usage: ")]
    assert len(lines) == 1


def test_text_that_cannot_be_decoded(project: Path) -> None:
    command = [sys.executable, "-m", "ddplint", "--from-stdin", "train.py"]
    process = subprocess.run(command, cwd=project, input=b"# caf\xe9\n", capture_output=True, check=False)
    assert process.returncode == 32
    assert process.stdout == b""
    assert process.stderr.count(b"\n") == 1


def test_declared_encodings_are_followed_on_standard_input(project: Path) -> None:
    source = f"# -*- coding: latin-1 -*-\n{TRAIN}# caf\xe9\n".encode("latin-1")
    command = [sys.executable, "-m", "ddplint", JSON, "--from-stdin", "train.py"]
    process = subprocess.run(command, cwd=project, input=source, capture_output=True, check=False)
    text: subprocess.CompletedProcess[str] = subprocess.CompletedProcess([], 4, process.stdout.decode(), "")
    assert found(text) == {(path, line + 1, symbol) for path, line, symbol in FOUND}


ANSWERS = [["."], ["--list"], ["--explain", "W7101"], ["--version"], ["--help"]]


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_reader_that_goes_away(project: Path, arguments: list[str]) -> None:
    script = Path(sys.executable).with_name("ddplint")
    with subprocess.Popen([script, *arguments], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_full_disk_costs_one_line(project: Path, arguments: list[str]) -> None:
    script = Path(sys.executable).with_name("ddplint")
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [script, *arguments], cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (process.returncode, process.stderr) == (
        32,
        "ddplint: the output cannot be written: No space left on device\n",
    )


def test_a_run_without_an_output_has_its_exit_status(project: Path) -> None:
    process = run(["sh", "-c", f"'{sys.executable}' -m ddplint . >&-"], project)
    assert (process.returncode, process.stderr) == (4, "")


@pytest.mark.parametrize("end", ["\r", "\r\n", "\r\r\n"], ids=ascii)
def test_lines_may_end_as_python_lets_them(project: Path, end: str) -> None:
    (project / "train.py").write_bytes(TRAIN.replace("\n", end).encode())
    step = end.count("\r")  # the last of these ends two lines
    process = ddplint(JSON, ".", cwd=project)
    assert found(process) == {(path, (line - 1) * step + 1, symbol) for path, line, symbol in FOUND}
