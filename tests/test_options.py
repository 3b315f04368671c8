"""ddplint's own options: where they are read, what a name means, and what is said of a wrong one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import SAVE, ddplint, found, messages, pylint, run

from ddplint.command import main
from ddplint.settings import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Process

    Command = Here = Callable[..., Process]

JSON = "--output-format=json2"
BOTH = pytest.mark.parametrize("command", [ddplint, pylint], ids=["ddplint", "pylint"])
PREDICATES = "ddp-rank-predicates"
NAME = "club.desk.on_duty"

TRAIN = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

{head}


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    for _ in range(10):
        model(torch.randn(2, 8)).sum().backward()
    if {test}:
        torch.save(model.module.state_dict(), "model.pt")
    if {other}:
        torch.save(model.module.state_dict(), "other.pt")


main()
"""
DESK = """\
import os


def on_duty():
    return os.environ["SHIFT"] == "now"


def at_lunch():
    return os.environ["SHIFT"] == "noon"
"""
SCRIPT = TRAIN.format(head="from club.desk import at_lunch, on_duty", test="on_duty()", other="at_lunch()")
GUARDED, OTHER = (SCRIPT.splitlines().index(line) + 2 for line in ("    if on_duty():", "    if at_lunch():"))
WITHOUT = {("train.py", GUARDED, SAVE), ("train.py", OTHER, SAVE)}
WITH = {("train.py", OTHER, SAVE)}


@pytest.fixture
def club(tmp_path: Path) -> Path:
    """A repository with a script that saves under two tests that nobody can see through."""
    root = tmp_path / "club"
    (root / ".git").mkdir(parents=True)
    (root / "club").mkdir()
    (root / "club" / "__init__.py").touch()
    (root / "club" / "desk.py").write_text(DESK)
    (root / "train.py").write_text(SCRIPT)
    return root


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command, run in this process."""

    def call(cwd: Path, *arguments: str) -> Process:
        monkeypatch.chdir(cwd)
        status = main(arguments)
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return call


# Where they are read

FORMS = {
    "pyproject.toml": f'[tool.pylint.ddplint]\n{PREDICATES} = ["{NAME}"]\n',
    ".pylintrc.toml": f'[tool.pylint.ddplint]\n{PREDICATES} = ["{NAME}", "club.desk.on_duty"]\n',
    "pylintrc": f"[DDPLINT]\n{PREDICATES}=other.name,\n  {NAME}\n",
    "setup.cfg": f"[pylint.ddplint]\n{PREDICATES} = {NAME}\n",
    "tox.ini": f"[pylint.DDPLINT]\n{PREDICATES} = {NAME}\n",
}


@BOTH
@pytest.mark.parametrize("file", FORMS)
def test_a_configuration_is_read(club: Path, command: Command, file: str) -> None:
    (club / file).write_text(FORMS[file])
    process = command(JSON, "train.py", cwd=club)
    assert found(process) == WITH
    assert (process.returncode, process.stderr) == (4, "")


@BOTH
def test_the_command_line_is_read_and_replaces_the_configuration(club: Path, command: Command) -> None:
    assert found(command(JSON, "train.py", cwd=club)) == WITHOUT
    (club / "pyproject.toml").write_text(f'[tool.pylint.ddplint]\n{PREDICATES} = ["club.desk.at_lunch"]\n')
    for arguments in ([f"--{PREDICATES}={NAME}"], [f"--{PREDICATES}", NAME, "-j2", "club/desk.py"]):
        assert found(command(JSON, *arguments, "train.py", cwd=club)) == WITH


@BOTH
def test_text_on_standard_input_is_judged_with_them(club: Path, command: Command) -> None:
    (club / "train.py").unlink()
    process = command(JSON, f"--{PREDICATES}={NAME}", "--from-stdin", "train.py", cwd=club, stdin=SCRIPT)
    assert found(process) == WITH


@BOTH
def test_help_tells_them(club: Path, command: Command) -> None:
    said = command("--help", cwd=club).stdout
    assert all(f"--{name} <dotted names>" in said for name in OPTIONS.values())


def test_a_generated_configuration_can_be_used(club: Path) -> None:
    command = [sys.executable, "-m", "pylint", "--load-plugins=ddplint"]
    (club / "pylintrc").write_text(run([*command, "--generate-rcfile"], club).stdout)
    assert f"#{PREDICATES}=" in (club / "pylintrc").read_text()
    assert found(ddplint(JSON, "train.py", cwd=club)) == WITHOUT


# What a name means

DUTIES = """\
import functools
import os

from .desk import at_lunch as away
from .desk import on_duty as here


def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        print(function.__name__)
        return function(*args)
    return wrapper


@counted
def decorated():
    return os.environ["SHIFT"] == "1"


@counted
def decorated_too():
    return os.environ["SHIFT"] == "2"


if os.name == "nt":
    def in_arms():
        return os.environ["SHIFT"] == "3"
else:
    def in_arms():
        return os.environ["SHIFT"] == "4"

VALUE = os.environ["SHIFT"] == "5"
VALUE_TOO = os.environ["SHIFT"] == "6"
late = late_too = None
alias = here


def setup():
    global late, late_too
    late = os.environ["SHIFT"] == "7"
    late_too = os.environ["SHIFT"] == "8"


class Person:
    def __init__(self):
        self.paid = os.environ["SHIFT"] == "9"
        self.paid_too = os.environ["SHIFT"] == "10"

    def works(self):
        return os.environ["SHIFT"] == "11"

    def works_too(self):
        return os.environ["SHIFT"] == "12"

    @property
    def seated(self):
        return os.environ["SHIFT"] == "13"

    @property
    def seated_too(self):
        return os.environ["SHIFT"] == "14"

    @staticmethod
    def known():
        return os.environ["SHIFT"] == "15"

    @classmethod
    def known_too(cls):
        return os.environ["SHIFT"] == "16"


class Member(Person):
    pass
"""
STYLES = {
    "reexported": ("from club import here, away", "here()", "away()", "club.desk.on_duty"),
    "by_another_name": ("from club.desk import on_duty, at_lunch", "on_duty()", "at_lunch()", "club.duties.alias"),
    "star": ("from club.duties import *", "here()", "away()", "club.every.here"),
    "module": ("import club.desk as d", "d.on_duty()", "d.at_lunch()", NAME),
    "decorated": ("from club import duties", "duties.decorated()", "duties.decorated_too()", "club.duties.decorated"),
    "in_arms": ("from club import duties", "duties.in_arms()", "duties.decorated()", "club.duties.in_arms"),
    "value": ("from club.duties import VALUE, VALUE_TOO", "VALUE", "VALUE_TOO", "club.duties.VALUE"),
    "late_value": (
        "from club import duties\nduties.setup()", "duties.late", "duties.late_too", "club.duties.late",
    ),
    "method": (
        "from club.duties import Member\nm = Member()", "m.works()", "m.works_too()", "club.duties.Member.works",
    ),
    "attribute": ("from club.duties import Member\nm = Member()", "m.paid", "m.paid_too", "club.duties.Person.paid"),
    "property": (
        "from club.duties import Member\nm = Member()", "m.seated", "m.seated_too", "club.duties.Person.seated",
    ),
    "of_a_class": (
        "from club.duties import Person", "Person.known()", "Person.known_too()", "club.duties.Person.known",
    ),
    "own": (DESK, "on_duty()", "at_lunch()", "own.on_duty"),
    "library": ("from guild import desk", "desk.on_duty()", "desk.at_lunch()", "guild.desk.on_duty"),
    "library_value": ("from guild.desk import OPEN, SHUT", "OPEN", "SHUT", "guild.desk.OPEN"),
    "library_star": ("from guild.desk import *", "on_duty()", "at_lunch()", "guild.desk.on_duty"),
    "library_class": (
        "from guild.people import Guest\ng = Guest()", "g.paid", "g.paid_too", "guild.people.Guest.paid",
    ),
    "negated": ("from club.desk import on_duty, at_lunch", "not (not on_duty())", "not (not at_lunch())", NAME),
    "passed_on": (
        "from club.desk import on_duty, at_lunch\ncheck = {'a': on_duty, 'b': at_lunch}",
        "check['a']()", "check['b']()", NAME,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def styles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a script for each way in which a test can be named."""
    root = tmp_path_factory.mktemp("styles")
    (root / ".git").mkdir()
    (root / "club").mkdir()
    (root / "club" / "__init__.py").write_text("from .duties import away, here\n")
    (root / "club" / "desk.py").write_text(DESK)
    (root / "club" / "duties.py").write_text(DUTIES)
    (root / "club" / "every.py").write_text("from .duties import *\n")
    for style, (head, test, other, _) in STYLES.items():
        (root / f"{style}.py").write_text(TRAIN.format(head=head, test=test, other=other))
    return root


@pytest.mark.parametrize("style", STYLES)
def test_a_name_is_followed_to_what_it_means(styles: Path, style: str, here: Here) -> None:
    source = (styles / f"{style}.py").read_text()
    first, second = (number for number, line in enumerate(source.splitlines(), 1) if "torch.save(" in line)
    for options, lines in ([], [first, second]), ([f"--{PREDICATES}={STYLES[style][3]}"], [second]):
        process = here(styles, JSON, *options, f"{style}.py")
        assert [message["line"] for message in messages(process)] == lines
        assert process.stderr == ""


TOOLS = """\
import os

import torch

TABLE = {}


def logged(function):
    def wrapper(*args):
        print(function.__name__)
        return function(*args)
    return wrapper


class Vault:
    def put(self, state, path):
        if os.path.exists(path):
            return
        torch.save(state, path, pickle_protocol=4)

    def put_all(self, state, path):
        if os.path.exists(path):
            return
        torch.save(state, path)


class Deep(Vault):
    @logged
    def bare(self, model):
        return TABLE[id(model)] if id(model) in TABLE else model

    @logged
    def same(self, model):
        return TABLE[id(model)] if id(model) in TABLE else model
"""
LOADING = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
import transformers
from guild.orders import Own, Theirs

import tools


class Mine(Own):
    pass


class Others(Theirs):
    pass


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    vault = tools.Deep()
    data = torch.randn(64, 8)
    for loader in ({loaders}):
        for batch in loader:
            model(batch).sum().backward()
    vault.put(model.module.state_dict(), "a.pt")
    vault.put_all(model.module.state_dict(), "b.pt")
    if dist.get_rank() == 0:
        torch.save(vault.bare(model).state_dict(), "c.pt")
        torch.save(vault.same(model).state_dict(), "d.pt")


main()
"""
LOADERS = (
    "DataLoader(data, sampler=Mine(data))",
    "DataLoader(data, sampler=Others(data))",
    "DataLoader(transformers.OwnRows())",
    "DataLoader(transformers.AllRows())",
)
LOADED = LOADING.format(loaders=", ".join(f"\n        {loader}" for loader in LOADERS))
NAMED = {
    "ddp-sharding-classes": ("guild.orders.Own,transformers.OwnRows", ("Mine(data)", "OwnRows()")),
    "ddp-one-rank-savers": ("tools.Deep.put", ("pickle_protocol",)),
    "ddp-unwrap-functions": ("tools.Deep.bare", ("vault.bare(",)),
}


@pytest.mark.parametrize("option", NAMED)
def test_classes_methods_and_libraries_are_named_too(club: Path, option: str, here: Here) -> None:
    (club / "tools.py").write_text(TOOLS)
    (club / "train.py").write_text(LOADED)
    names, silenced = NAMED[option]
    before, after = (
        {(m["path"], m["line"]) for m in messages(here(club, JSON, *options, "train.py", "tools.py"))}
        for options in ([], [f"--{option}={names}"])
    )
    texts = {"train.py": LOADED.splitlines(), "tools.py": TOOLS.splitlines()}
    gone = {(path, line) for path, line in before if any(part in texts[path][line - 1] for part in silenced)}
    assert len(gone) == len(silenced)
    assert after == before - gone


def test_on_the_other_ranks_a_predicate_is_false(club: Path) -> None:
    source = SCRIPT.replace("if on_duty():", "if on_duty():\n        pass\n    else:")
    (club / "train.py").write_text(source)
    lines = {line for _, line, _ in found(ddplint(JSON, f"--{PREDICATES}={NAME}", "train.py", cwd=club))}
    assert lines == {number for number, line in enumerate(source.splitlines(), 1) if "torch.save(" in line}


def test_folders_with_modules_of_one_name_do_not_mix(club: Path) -> None:
    for folder in ("a", "b"):
        (club / folder).mkdir()
        (club / folder / "roles.py").write_text(DESK if folder == "a" else DESK.replace("on_duty", "on_call"))
        (club / folder / "train.py").write_text(
            SCRIPT.replace("club.desk", "roles").replace("on_duty", "on_duty" if folder == "a" else "on_call")
        )
    arguments = [f"--{PREDICATES}=roles.on_duty", "a", "b"]
    for process in (ddplint(JSON, *arguments, cwd=club), ddplint(JSON, "-j2", *arguments, cwd=club)):
        assert {path for path, _, _ in found(process)} == {"a/train.py", "b/train.py"}
        assert len(found(process)) == 3
        assert process.stderr == ""


# What is wrong

WRONG = {
    "number": "3",
    "truth": "true",
    "table": "{ a = 1 }",
    "date": "1979-05-27",
    "empty text": '""',
    "empty list": "[]",
    "no dot": '["on_duty"]',
    "number in a list": '["club.desk.on_duty", 3.5]',
    "keyword": '["club.class.on_duty"]',
    "empty part": '["club..on_duty"]',
    "pattern": '["*.on_duty"]',
    "call": '["club.desk.on_duty()"]',
    "several lines": '["""club.desk\non_duty"""]',
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_a_value_that_is_no_name(club: Path, value: str, here: Here) -> None:
    (club / "pyproject.toml").write_text(f"[tool.pylint.ddplint]\n{PREDICATES} = {value}\n")
    process = here(club, "train.py")
    usage, error = process.stderr.splitlines()
    assert usage.startswith("usage: ")
    assert error.startswith(f"ddplint: error: argument --{PREDICATES}: ")
    assert "dotted name" in error
    assert (process.returncode, process.stdout) == (32, "")


@BOTH
def test_a_wrong_value_in_either_place(club: Path, command: Command) -> None:
    (club / "pyproject.toml").write_text(f"[tool.pylint.ddplint]\n{PREDICATES} = []\n")
    in_file = command("-j2", "train.py", "club", cwd=club)
    (club / "pyproject.toml").unlink()
    on_line = command(f"--{PREDICATES}=3", "-j2", "train.py", "club", cwd=club)
    for process, reason in (
        (in_file, "at least one dotted name is expected"),
        (on_line, "'3' is not a dotted name such as package.module.name"),
    ):
        assert process.stderr.endswith(f"\n{command.__name__}: error: argument --{PREDICATES}: {reason}\n")
        assert (process.returncode, process.stdout) == (32, "")


@pytest.mark.parametrize("name", OPTIONS.values())
def test_each_option_is_checked(club: Path, name: str, here: Here) -> None:
    process = here(club, f"--{name}=save", "train.py")
    assert process.returncode == 32
    assert f"argument --{name}: 'save' is not a dotted name" in process.stderr


@pytest.mark.parametrize(("command", "name"), [(ddplint, "baseline"), (pylint, "baseline"), (pylint, "write-baseline")])
@pytest.mark.parametrize("value", ["true", "false"])
def test_a_truth_is_no_file(club: Path, command: Command, name: str, value: str) -> None:
    (club / "pyproject.toml").write_text(f"[tool.pylint.ddplint]\n{name} = {value}\n")
    process = command("train.py", cwd=club)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr.endswith(f": error: argument --{name}: a file is expected, not {value}\n")


@pytest.mark.parametrize("text", ["[tool.pylint]\nddplint = 3\n", '[[tool.pylint.ddplint]]\nbaseline = "x"\n'])
def test_a_section_of_ours_that_is_none_is_told(club: Path, text: str) -> None:
    (club / "pyproject.toml").write_text(text)
    process = ddplint(JSON, "train.py", cwd=club)
    assert found(process) == WITHOUT
    assert process.stderr.startswith("ddplint: pyproject.toml: unknown option ddplint; ")
    assert process.returncode == 32 | 4


SECTIONS = {
    "pyproject.toml": '[tool.pylint.ddplint]\nrank-predicates = ["a.b"]\n[tool.pylint.design]\nmax-fun = 3\n',
    "pylintrc": "[DDPLINT]\nrank-predicates=a.b\n[DESIGN]\nmax-fun=3\n",
    "setup.cfg": "[pylint.ddplint]\nrank-predicates = a.b\n[pylint.design]\nmax-fun = 3\n",
    "tox.ini": "[other]\nno-option = 3\n[pylint.DDPLINT]\nrank-predicates = a.b\n",
}


@pytest.mark.parametrize("file", SECTIONS)
def test_an_unknown_option_in_our_section(club: Path, file: str) -> None:
    (club / file).write_text(SECTIONS[file])
    process = ddplint(JSON, "train.py", cwd=club)
    assert found(process) == WITHOUT
    known = ", ".join([*OPTIONS.values(), "baseline", "write-baseline"])
    assert process.stderr == f"ddplint: {file}: unknown option rank-predicates; ddplint's own are {known}\n"
    assert process.returncode == 32 | 4


def test_pylint_tells_an_unknown_option_itself(club: Path) -> None:
    (club / "pyproject.toml").write_text(SECTIONS["pyproject.toml"])
    told = [
        m
        for m in messages(pylint(JSON, "--enable=unrecognized-option", "train.py", cwd=club))
        if m["symbol"] == "unrecognized-option"
    ]
    assert len(told) == 1
    assert "rank-predicates" in told[0]["message"]


def test_an_unknown_option_of_ours_in_another_section(club: Path) -> None:
    (club / "pyproject.toml").write_text('[tool.pylint.main]\nddp-rank-predicate-names = ["a.b"]\nmax-fun = 3\n')
    process = ddplint("train.py", cwd=club)
    assert process.stderr.startswith("ddplint: pyproject.toml: unknown option ddp-rank-predicate-names; ")
    assert process.stderr.count("\n") == 1
    assert process.returncode == 32 | 4


def test_options_of_others_are_passed_over(club: Path) -> None:
    (club / "pyproject.toml").write_text(f'{FORMS["pyproject.toml"]}[tool.pylint.django]\ndjango-settings = "a"\n')
    process = ddplint(JSON, "train.py", cwd=club)
    assert found(process) == WITH
    assert (process.returncode, process.stderr) == (4, "")


MISSING = {
    PREDICATES: ["club.desk.on_dutty", "club.dessk.on_duty", "club.desk.on_duty.now", "train.on_leave"],
    "ddp-sharding-classes": ["club.desk.on_duty", "club.Part"],
    "ddp-one-rank-savers": ["train.main.save"],
    "ddp-unwrap-functions": ["club.desk"],
}


@BOTH
@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_a_name_that_the_project_does_not_hold_is_told_once(club: Path, command: Command, jobs: str) -> None:
    (club / "again.py").write_text(SCRIPT)
    outside = ["guild.desk.on_duty", "torch.distributed.is_chief"]
    arguments = [f"--{option}={','.join([*names, *outside])}" for option, names in MISSING.items()]
    process = command(JSON, jobs, *arguments, "train.py", "again.py", "club", cwd=club)
    assert process.stderr.splitlines() == [
        f"ddplint: {option}: the project has the module that {name} begins with, but not {name}"
        for option, name in sorted((option, name) for option, names in MISSING.items() for name in names)
    ]
    assert len(found(process)) == 4
    assert process.returncode == 4
