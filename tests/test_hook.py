"""The pre-commit hook, as pre-commit itself runs it: from a git repository at a tag, on what is committed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import readme
import yaml
from conftest import DATA, PLAIN, SAMPLER, SAVE, TRAIN, line_of, run

import ddplint as package

if TYPE_CHECKING:
    from conftest import Process

ROOT = readme.ROOT
README = readme.README.read_text(encoding="utf-8")
HOME = str(Path.home())  # where pip finds its configuration
INSTALLED = ("ddplint", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
TAG = f"v{package.__version__}"
XARGS = 2**17  # characters that pre-commit gives one command at most
PRE_COMMIT = [sys.executable, "-m", "pre_commit"]

LOADING = '''\
"""The batches to train on."""

from torch.utils.data import DataLoader, DistributedSampler

from data import build_dataset


def build_loader():
    dataset = build_dataset()
    return DataLoader(dataset, batch_size=32, shuffle=True)
'''
LOADED = LOADING.replace("shuffle=True", "sampler=DistributedSampler(dataset, shuffle=False)")
TRAIN_ELSEWHERE = TRAIN.replace("from data import build_dataset", "from loading import build_loader").replace(
    "DataLoader(build_dataset(), batch_size=32, shuffle=True)", "build_loader()"
)


def git(*arguments: str, cwd: Path, **environment: str) -> Process:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "core.autocrlf=false"]
    return run(["git", *name, *arguments], cwd, **environment)


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with what is needed to install the hook, tagged as a release is."""
    repository = tmp_path_factory.mktemp("hook")
    for name in INSTALLED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, repository / name)
    git("init", "--quiet", cwd=repository)
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "-m", "hook", cwd=repository)
    git("tag", TAG, cwd=repository)
    return repository


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: the hook's environment is made once."""
    return tmp_path_factory.mktemp("cache")


class Repository:
    """A user's repository, in which ``git commit`` runs the hook."""

    def __init__(self, root: Path, hook: Path, cache: Path) -> None:
        self.root = root
        self._hook = str(hook)
        self._environment = {"PRE_COMMIT_HOME": str(cache), "HOME": HOME}
        shutil.rmtree(root / ".git", ignore_errors=True)
        git("init", "--quiet", cwd=root)
        self.configure()
        assert self.pre_commit("install").returncode == 0
        self.git("add", ".")
        self.git("commit", "--no-verify", "--quiet", "-m", "all")

    def git(self, *arguments: str) -> Process:
        return git(*arguments, cwd=self.root, **self._environment)

    def pre_commit(self, *arguments: str) -> Process:
        return run([*PRE_COMMIT, *arguments], self.root, **self._environment)

    def configure(self, **options: object) -> None:
        """Write a configuration with these options of the hook; it is part of what is committed next."""
        hook = {"id": "ddplint", "verbose": True, **options}
        settings = {"repos": [{"repo": self._hook, "rev": TAG, "hooks": [hook]}]}
        (self.root / ".pre-commit-config.yaml").write_text(yaml.safe_dump(settings))
        self.git("add", ".pre-commit-config.yaml")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, *names: str) -> Process:
        """Stage the files ``names`` and commit."""
        self.git("add", "--", *names)
        return self.git("commit", "-m", "change")

    @property
    def is_committed(self) -> bool:
        """Whether nothing that is staged is left."""
        return self.git("diff", "--cached", "--quiet").returncode == 0


@pytest.fixture
def repository(project: Path, hook: Path, cache: Path) -> Repository:
    """A repository whose files were committed before the hook was there: a script with two mistakes, its data."""
    return Repository(project, hook, cache)


@pytest.fixture
def parted(repository: Repository) -> Repository:
    """A repository in which the model is wrapped in one file and the loader made in another, rightly."""
    repository.write("train.py", TRAIN_ELSEWHERE)
    repository.write("loading.py", LOADED)
    repository.git("add", ".")
    repository.git("commit", "--no-verify", "--quiet", "-m", "parted")
    return repository


def places(process: Process) -> list[tuple[str, int, str]]:
    """File, line and symbol of each message that the hook printed."""
    lines = [line for line in (process.stdout + process.stderr).splitlines() if line.endswith(")") and ": W71" in line]
    return [(line.split(":")[0], int(line.split(":")[1]), line.rpartition("(")[2][:-1]) for line in lines]


def test_the_readme_names_the_tag() -> None:
    [settings] = (block.text for block in readme.blocks(README) if block.note == "file: .pre-commit-config.yaml")
    assert yaml.safe_load(settings)["repos"][0]["rev"] == TAG


def test_the_hook_can_be_tried(repository: Repository, hook: Path) -> None:
    process = repository.pre_commit("try-repo", str(hook), "ddplint", f"--ref={TAG}", "--all-files", "--verbose")
    assert process.returncode == 1
    assert "exit code: 4" in process.stdout
    assert {symbol for _, _, symbol in places(process)} == {SAMPLER, SAVE}


def test_a_commit_is_stopped_until_the_mistake_is_gone(parted: Repository) -> None:
    """Only the changed file is judged; that its loader trains a wrapped model stands in files that did not change."""
    parted.write("loading.py", LOADING)
    process = parted.commit("loading.py")
    assert process.returncode == 1
    assert places(process) == [("loading.py", line_of("DataLoader(", LOADING), SAMPLER)]
    parted.write("loading.py", f"{LOADED}\n# changed\n")
    process = parted.commit("loading.py")
    assert process.returncode == 0, process.stderr
    assert parted.is_committed


def test_a_commit_that_does_not_concern_ddp_goes_through(repository: Repository) -> None:
    repository.write("area.py", PLAIN)
    process = repository.commit("area.py")
    assert process.returncode == 0, process.stderr
    assert places(process) == []


def test_what_is_not_staged_is_no_cure_and_is_kept(parted: Repository) -> None:
    parted.write("loading.py", LOADING)
    parted.git("add", "loading.py")
    parted.write("loading.py", LOADED)
    parted.write("data.py", f"{DATA}# being worked on\n")
    process = parted.commit()
    assert places(process) == [("loading.py", line_of("DataLoader(", LOADING), SAMPLER)]
    assert (parted.root / "loading.py").read_text() == LOADED
    assert (parted.root / "data.py").read_text() == f"{DATA}# being worked on\n"


def test_files_that_git_does_not_know_are_neighbours_too(parted: Repository) -> None:
    """The model is wrapped in such a file."""
    parted.git("rm", "--cached", "train.py")
    parted.write("loading.py", LOADING)
    process = parted.commit("loading.py")
    assert places(process) == [("loading.py", line_of("DataLoader(", LOADING), SAMPLER)]
    (parted.root / "train.py").unlink()
    assert parted.commit("loading.py").returncode == 0


def test_files_and_exclude_choose_what_is_judged_and_args_how(repository: Repository) -> None:
    for folder in ("src", "src/old", "tools"):
        for name, text in (("train.py", TRAIN), ("data.py", DATA)):
            repository.write(f"{folder}/{name}", text)
    repository.configure(files="^src/", exclude="^src/old/", args=["-j2", f"--disable={SAVE}"])
    process = repository.commit("src", "tools")
    assert places(process) == [("src/train.py", line_of("DataLoader("), SAMPLER)]


def test_the_configuration_of_pylint_counts(repository: Repository) -> None:
    repository.write(
        "pyproject.toml",
        f'[tool.pylint.main]\nfail-under = 0\nload-plugins = ["pylint_django"]\ndisable = ["{SAVE}"]\n',
    )
    repository.write("train.py", f"{TRAIN}\n# changed\n")
    process = repository.commit("pyproject.toml", "train.py")
    assert process.returncode == 1
    assert {symbol for _, _, symbol in places(process)} == {SAMPLER}


def test_the_whole_project_can_be_judged_before_a_push(repository: Repository) -> None:
    """As the README says."""
    block = next(block for block in readme.blocks(README) if "pass_filenames" in block.text)
    repository.configure(**yaml.safe_load(block.text)[0])
    repository.write("area.py", PLAIN)
    assert repository.commit("area.py").returncode == 0
    process = repository.pre_commit("run", "--hook-stage=pre-push", "--files", "area.py")
    assert process.returncode == 1
    assert {(file, symbol) for file, _, symbol in places(process)} == {("train.py", SAMPLER), ("train.py", SAVE)}


def test_scripts_without_an_ending_are_judged_and_stubs_are_not(repository: Repository) -> None:
    script = repository.root / "run-training"
    script.write_text(f"#!/usr/bin/env python3\n{TRAIN}")
    script.chmod(0o755)
    repository.write("train.pyi", TRAIN)
    process = repository.commit("run-training", "train.pyi")
    assert {(file, symbol) for file, _, symbol in places(process)} == {
        ("run-training", SAMPLER),
        ("run-training", SAVE),
    }


def test_so_many_files_that_one_command_cannot_name_them(parted: Repository) -> None:
    """They are split over several runs of the command, of which each finds what it would find alone."""
    folder = f"{'long' * 50}/{'name' * 50}"
    names = [f"{folder}/part_{number}.py" for number in range(330)]
    for name in names:
        parted.write(name, PLAIN)
    assert len(" ".join(names)) > XARGS
    parted.write("loading.py", LOADING)
    process = parted.commit("loading.py", *names)
    assert places(process) == [("loading.py", line_of("DataLoader(", LOADING), SAMPLER)]
    assert process.returncode == 1
