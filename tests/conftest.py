"""What the tests share: a small program with two mistakes, and the real entry points as processes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SAMPLER = "ddp-missing-distributed-sampler"
SAVE = "ddp-unguarded-save"

TRAIN = '''\
"""Train a small model with one process for each GPU."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from data import build_dataset


def train(model, loader, optimizer, epochs):
    """Fit ``model`` on the batches of ``loader``."""
    for epoch in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "is done")


def main():
    dist.init_process_group("nccl")
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    model = torch.nn.Linear(8, 2).to(device)
    wrapped = DistributedDataParallel(model, device_ids=[device])
    loader = DataLoader(build_dataset(), batch_size=32, shuffle=True)
    train(wrapped, loader, torch.optim.SGD(wrapped.parameters(), lr=0.1), epochs=10)
    torch.save(model.state_dict(), "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
'''

DATA = '''\
"""The samples to train on."""

import torch
from torch.utils.data import TensorDataset


def build_dataset():
    return TensorDataset(torch.randn(256, 8), torch.randint(2, (256,)))
'''

PLAIN = '''\
"""Nothing here is trained by several processes."""


def area(width, height):
    return width * height
'''


def line_of(text: str, source: str = TRAIN) -> int:
    """The number of the first line of ``source`` that holds ``text``."""
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


FOUND = {
    ("train.py", line_of("DataLoader("), SAMPLER),
    ("train.py", line_of("torch.save("), SAVE),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a training script that has two mistakes."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "train.py").write_text(TRAIN)
    (root / "data.py").write_text(DATA)
    return root


@pytest.fixture(autouse=True)
def _no_configuration_of_mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the developer's own pylint configuration and caches out; let a failure of ddplint be a failure."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYLINTHOME", str(home))
    monkeypatch.setenv("DDPLINT_DEBUG", "1")
    for name in (
        "PYLINTRC",
        "NO_COLOR",
        "FORCE_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)


Process = subprocess.CompletedProcess[str]


def run(command: list[str], cwd: Path, stdin: str | None = None, **environment: str) -> Process:
    """Run ``command`` in ``cwd``."""
    return subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


def on_terminal(command: list[str], cwd: Path, **environment: str) -> tuple[int, str]:
    """The exit status of ``command`` and all that appears on the terminal it runs on, 80 columns wide."""
    here, there = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment}
    process = subprocess.Popen(command, cwd=cwd, stdin=there, stdout=there, stderr=there, env=variables)
    os.close(there)
    said = b""
    try:
        while chunk := os.read(here, 65_536):
            said += chunk
    except OSError:  # what Linux says at the end
        pass
    os.close(here)
    return process.wait(60), said.decode("utf-8").replace("\r\n", "\n")


def ddplint(*arguments: str | Path, cwd: Path, stdin: str | None = None, **environment: str) -> Process:
    """Run the installed ``ddplint`` command."""
    script = Path(sys.executable).with_name("ddplint")
    return run([str(script), *map(str, arguments)], cwd, stdin, **environment)


def pylint(*arguments: str | Path, cwd: Path, stdin: str | None = None, **environment: str) -> Process:
    """Run pylint with the plugin and no other messages."""
    command = [sys.executable, "-m", "pylint", "--load-plugins=ddplint", "--disable=all", "--enable=ddplint"]
    return run([*command, *map(str, arguments)], cwd, stdin, **environment)


def messages(process: Process) -> list[dict[str, Any]]:
    """The messages of a run with ``--output-format=json2``."""
    found: list[dict[str, Any]] = json.loads(process.stdout)["messages"]
    return found


def found(process: Process) -> set[tuple[str, int, str]]:
    """Path, line and symbol of each message of a run with ``--output-format=json2``."""
    triples = [(Path(m["path"]).as_posix(), m["line"], m["symbol"]) for m in messages(process)]
    assert len(triples) == len(set(triples)), "a message is repeated"
    return set(triples)
