"""The reference trainer, under real torchrun."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run

import ddplint

TRAIN = [sys.executable, "-m", "ddplint.harness", "train"]
REFERENCE = Path(ddplint.__file__).parent / "harness" / "reference.py"
LOAD = "import sys, torch; print(*torch.load(sys.argv[1], weights_only=True))"


@pytest.mark.parametrize(("nproc", "accumulation", "steps"), [(2, 4, 2), pytest.param(4, 3, 2, marks=pytest.mark.long)])
def test_each_rank_sees_its_share_and_a_step_costs_one_sync(
    tmp_path: Path, nproc: int, accumulation: int, steps: int
) -> None:
    """Without NumPy, which torch is installed without."""
    folder, hidden = tmp_path / "work", tmp_path / "hidden"
    folder.mkdir()
    hidden.mkdir()
    (hidden / "numpy.py").write_text("raise ModuleNotFoundError\n")
    path = os.pathsep.join(filter(None, [str(hidden), os.environ.get("PYTHONPATH")]))
    checkpoint = folder / "kept.pt"
    process = run(
        [*TRAIN, f"--nproc={nproc}", f"--accum={accumulation}", f"--checkpoint={checkpoint}"], folder, PYTHONPATH=path
    )
    assert process.returncode == 0, process.stderr
    expected = [
        f"epoch {epoch}: rank {rank} saw {64 // nproc} of 64 samples, steps: {steps}, syncs per step: 1"
        for epoch in range(2)
        for rank in range(nproc)
    ]
    assert [line for line in process.stdout.splitlines() if line.startswith("epoch")] == expected
    assert f"{checkpoint} loads into the plain model." in process.stdout
    assert list(folder.iterdir()) == [checkpoint]
    keys = run([sys.executable, "-c", LOAD, str(checkpoint)], tmp_path).stdout.split()
    assert keys == ["0.weight", "0.bias", "2.weight", "2.bias"]


@pytest.mark.long
def test_a_copy_of_the_reference_trains_alone_and_the_linter_is_silent_on_it(tmp_path: Path) -> None:
    copy = tmp_path / "train.py"
    copy.write_bytes(REFERENCE.read_bytes())
    assert run([sys.executable, "-m", "ddplint", "train.py"], tmp_path).returncode == 0
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    process = subprocess.run([*torchrun, str(copy)], cwd=tmp_path, capture_output=True, text=True, check=False)
    seen = re.findall(r"^epoch (\d): rank (\d) saw 32 of 64 samples", process.stdout, re.MULTILINE)
    assert seen == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    assert (tmp_path / "checkpoint.pt").is_file()


def test_a_mistake_put_into_the_reference_is_found(tmp_path: Path) -> None:
    """So its silence says something: the linter follows this script."""
    text = REFERENCE.read_text(encoding="utf-8")
    copy = tmp_path / "train.py"
    mistakes = {
        "ddp-missing-distributed-sampler": (", sampler=sampler)", ", shuffle=True)"),
        "ddp-missing-set-epoch": ("        sampler.set_epoch(epoch)\n", ""),
        "ddp-wrapper-state-dict": ("model.module.state_dict()", "model.state_dict()"),
        "ddp-unguarded-save": ("if rank == 0:\n        torch.save", "if True:\n        torch.save"),
        "ddp-wasted-gradient-sync": ("with model.no_sync():", "if True:"),
    }
    for symbol, (right, wrong) in mistakes.items():
        assert text.count(right) == 1
        copy.write_text(text.replace(right, wrong), encoding="utf-8")
        found = run([sys.executable, "-m", "ddplint", "train.py"], tmp_path).stdout
        assert re.findall(r"\((ddp-[a-z-]+)\)$", found, re.MULTILINE) == [symbol], found


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
    assert list(temporary.iterdir()) == []
