"""The reference trainer, under real torchrun."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from conftest import ddplint, found, run

import ddplint as package

WATCH = [sys.executable, "-m", "ddplint.harness", "watch"]
TRAIN = [sys.executable, "-m", "ddplint.harness", "train"]
REFERENCE = Path(package.__file__).parent / "harness" / "reference.py"


def test_each_rank_sees_its_share_and_a_step_costs_one_sync(tmp_path: Path) -> None:
    """Also where nothing comes out even, and without NumPy, which torch is installed without."""
    folder, hidden = tmp_path / "work", tmp_path / "hidden"
    folder.mkdir()
    hidden.mkdir()
    (hidden / "numpy.py").write_text("raise ModuleNotFoundError\n")
    path = os.pathsep.join(filter(None, [str(hidden), os.environ.get("PYTHONPATH")]))
    checkpoint = folder / "kept.pt"
    process = run([*TRAIN, "--nproc=3", "--accum=4", f"--checkpoint={checkpoint}"], folder, PYTHONPATH=path)
    assert process.returncode == 0, process.stderr
    expected = [
        f"epoch {epoch}: rank {rank} saw 22 of 64 samples, steps: 2, syncs per step: 1"
        for epoch in range(2)
        for rank in range(3)
    ]
    assert [line for line in process.stdout.splitlines() if line.startswith("epoch")] == expected
    assert f"{checkpoint} loads into the plain model." in process.stdout
    assert list(folder.iterdir()) == [checkpoint]
    keys = set(re.findall(rb"\d\.(?:weight|bias)", checkpoint.read_bytes()))
    assert keys == {b"0.weight", b"0.bias", b"2.weight", b"2.bias"}


@pytest.mark.long
def test_a_copy_of_the_reference_trains_alone_and_neither_run_nor_linter_finds_anything(tmp_path: Path) -> None:
    copy = tmp_path / "train.py"
    copy.write_bytes(REFERENCE.read_bytes())
    assert b"ddplint" not in copy.read_bytes()
    process = run([*WATCH, "--lint", "--json=-", "--", "train.py"], tmp_path)
    assert process.returncode == 0, process.stderr
    seen = re.findall(r"^epoch (\d): rank (\d) saw 32 of 64 samples", process.stderr, re.MULTILINE)
    assert seen == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    content = json.loads(process.stdout)
    assert content["lint"] == []
    states = {verdict["state"]: verdict["rule"] for verdict in content["verdicts"]}
    assert states.keys() == {"clean", "not exercised"}
    assert (tmp_path / "checkpoint.pt").is_file()


def test_a_mistake_put_into_the_reference_is_found(tmp_path: Path) -> None:
    """So its silence says something: the linter follows this script."""
    text = REFERENCE.read_text(encoding="utf-8")
    mistakes = {
        "ddp-missing-distributed-sampler": (", sampler=sampler)", ", shuffle=True)"),
        "ddp-missing-set-epoch": ("        sampler.set_epoch(epoch)\n", ""),
        "ddp-wrapper-state-dict": ("model.module.state_dict()", "model.state_dict()"),
        "ddp-unguarded-save": ("if rank == 0:\n        torch.save", "if True:\n        torch.save"),
        "ddp-wasted-gradient-sync": ("with model.no_sync():", "if True:"),
    }
    for symbol, (right, wrong) in mistakes.items():
        assert text.count(right) == 1
        (tmp_path / symbol / ".git").mkdir(parents=True)
        (tmp_path / symbol / "train.py").write_text(text.replace(right, wrong), encoding="utf-8")
    told = found(ddplint("--output-format=json2", ".", cwd=tmp_path))
    assert sorted((path, symbol) for path, _, symbol in told) == [
        (f"{symbol}/train.py", symbol) for symbol in sorted(mistakes)
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--checkpoint=absent/kept.pt"], "ddplint-run: absent: no such folder\n"),
        (["--checkpoint=."], "ddplint-run: .: is a folder; name a file\n"),
        (["--nproc=0"], "'0' is not a number from 1 on\n"),
        (["--nproc=65"], "65 is more than 64\n"),
        (["--timeout=soon"], "'soon' is not a positive number of seconds\n"),
    ],
)
def test_wrong_options_are_told_in_a_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    process = run([*TRAIN, *arguments], tmp_path)
    assert process.returncode == 2
    assert process.stderr.endswith(line)
    assert "Traceback" not in process.stderr


def test_training_that_is_not_done_in_time_leaves_no_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = run([*TRAIN, "--timeout=0.1"], tmp_path, TMPDIR=str(temporary))
    assert process.returncode == 3
    assert process.stderr.splitlines()[-1] == "ddplint-run: training did not end in 0.1 seconds"
    assert list(temporary.glob("ddplint-*")) == []  # torch may have made a folder for what it compiles
