"""The pre-commit hook, as pre-commit itself runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SAMPLER, SAVE, run

ROOT = Path(__file__).parents[1]
HOME = str(Path.home())  # where pip finds its configuration
INSTALLED = ("ddplint", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


def git(*arguments: str, cwd: Path) -> None:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *name, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with what is needed to install the hook."""
    repository = tmp_path_factory.mktemp("hook")
    for name in INSTALLED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, repository / name)
    git("init", "--quiet", cwd=repository)
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "-m", "hook", cwd=repository)
    return repository


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: the hook's environment is made once."""
    return tmp_path_factory.mktemp("cache")


def try_hook(hook: Path, project: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(project / ".git", ignore_errors=True)
    git("init", "--quiet", cwd=project)
    git("add", ".", cwd=project)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hook), "ddplint", "--all-files", "--verbose"]
    process = run(command, project, PRE_COMMIT_HOME=str(cache), HOME=HOME)
    if "pip install" in process.stdout and "An unexpected error has occurred" in process.stdout:
        pytest.skip(f"the hook cannot be installed without a package index: {process.stdout[-500:]}")
    return process


def test_the_hook_stops_a_mistake(hook: Path, project: Path, cache: Path) -> None:
    process = try_hook(hook, project, cache)
    assert process.returncode == 1
    assert "exit code: 4" in process.stdout
    assert SAMPLER in process.stdout
    assert SAVE in process.stdout


def test_the_hook_respects_the_configuration(hook: Path, project: Path, cache: Path) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.pylint.main]\nfail-under = 0\nload-plugins = ["pylint_django"]\ndisable = ["{SAVE}"]\n'
    )
    process = try_hook(hook, project, cache)
    assert process.returncode == 1
    assert SAMPLER in process.stdout
    assert SAVE not in process.stdout


def test_the_hook_lets_the_rest_pass(hook: Path, project: Path, cache: Path) -> None:
    (project / "train.py").unlink()
    assert try_hook(hook, project, cache).returncode == 0
