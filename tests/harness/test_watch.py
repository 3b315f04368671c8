"""``ddplint-run watch``, on real runs: what is reported, where, and how it ends."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Process, line_of, on_terminal, run

CASES = Path(__file__).parents[2] / "testdata" / "cases"
WATCH = [sys.executable, "-m", "ddplint.harness", "watch"]

ALL_WRONG = """\
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
inputs = torch.rand(48, 4)
rows = TensorDataset(inputs, inputs.sum(1, keepdim=True))
whole = DataLoader(rows, batch_size=8, shuffle=True)
shares = DataLoader(
    rows,
    batch_size=8,
    sampler=DistributedSampler(rows),
)
model = DistributedDataParallel(nn.Linear(4, 1))
late = DistributedDataParallel(nn.Linear(4, 1))
late.double().float()
for loader, network in ((whole, model), (shares, model), (shares, late)):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    for epoch in range(2):
        for number, (x, y) in enumerate(loader):
            nn.functional.mse_loss(network(x), y).backward()
            if number % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
torch.save(model.state_dict(), "model.pt")
print("the script is done")
"""
SITES = {
    "ddp-missing-distributed-sampler": "whole = ",
    "ddp-missing-set-epoch": "sampler=D",
    "ddp-wrapper-state-dict": "torch.save",
    "ddp-unguarded-save": "torch.save",
    "ddp-wrap-before-move": "late = ",
    "ddp-wasted-gradient-sync": "backward()",
}


BEYOND = """\
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

dist.init_process_group("gloo")
rank = dist.get_rank()
inputs = torch.linspace(-1, 1, 80).unsqueeze(1)
part, held_out = random_split(TensorDataset(inputs, inputs.square()), [60, 20])
loader = DataLoader(part, batch_size=6, sampler=DistributedSampler(part))
inside, silent, summed = (DistributedDataParallel(nn.Linear(1, 1)) for _ in range(3))
optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (inside, silent, summed)]
for x, y in loader:
    nn.functional.mse_loss(inside.module(x), y).backward()  # past the wrapper
    with silent.no_sync():
        nn.functional.mse_loss(silent(x), y).backward()
    loss = nn.functional.mse_loss(summed(x), y)
    dist.all_reduce(loss)
    (loss / dist.get_world_size()).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
if rank == 0:
    torch.save(summed.module.state_dict(), "model.pt")
time.sleep(rank)
torch.load("model.pt")
if rank == 0:
    dist.all_reduce(loss)  # of one rank
"""
BEYOND_SITES = {
    "ddp-unsynchronized-step": "with silent",
    "ddp-bypassed-wrapper": "past the wrapper",
    "ddp-rank-guarded-collective": "of one rank",
    "ddp-rank-dependent-split": "random_split(T",
    "ddp-load-before-barrier": "torch.load",
    "ddp-collective-in-loss": "    dist.all_reduce(loss)",
}

LEFT = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(nn.Linear(1, 1))
for step in range(6):
    loss = model(torch.ones(2, 1)).sum()
    if rank == 1 and step > 3:
        break
    loss.backward()
dist.destroy_process_group()
"""


def watch(folder: Path, *arguments: str) -> Process:
    return run([*WATCH, *arguments], folder)


def report(folder: Path, *arguments: str, status: int) -> dict[str, Any]:
    """The report for a machine on a run in ``folder`` that ends with ``status``."""
    process = watch(folder, "--json=-", *arguments)
    assert process.returncode == status, process.stderr
    content: dict[str, Any] = json.loads(process.stdout)
    return content


def found(content: dict[str, Any]) -> set[tuple[str, int, str]]:
    """File name, line and rule of each mistake."""
    sites = [(one["site"].rpartition(":"), one["rule"]) for one in content["verdicts"] if one["state"] == "found"]
    return {(Path(file).name, int(line), rule) for (file, _, line), rule in sites}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    path = folder / "train.py"
    path.write_text(ALL_WRONG, encoding="utf-8")
    return path


def test_each_rule_is_found_on_its_line_and_confirms_the_linter(script: Path) -> None:
    process = watch(script.parent, "--lint", "--json=report.json", "--", "train.py")
    assert process.returncode == 1, process.stderr
    content = json.loads((script.parent / "report.json").read_text(encoding="utf-8"))
    expected = {("train.py", line_of(text, ALL_WRONG), rule) for rule, text in SITES.items()}
    assert found(content) == expected
    assert all(one["ranks"] == [0, 1] for one in content["verdicts"] if one["state"] == "found")
    fates = {one["rule"]: one["fate"] for one in content["lint"]}
    assert fates.pop("ddp-wrap-before-move") in ("confirmed", "not reported by the linter")
    assert set(fates.values()) == {"confirmed"}, content["lint"]
    for _, line, rule in expected:
        assert f"train.py:{line}: {rule}: found" in process.stdout
    assert "the script is done" in process.stderr
    assert "the script is done" not in process.stdout
    assert sorted(path.name for path in script.parent.iterdir()) == [".git", "model.pt", "report.json", "train.py"]


@pytest.mark.long
def test_the_rules_beyond_the_six_are_found_on_their_lines(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BEYOND, encoding="utf-8")
    content = report(tmp_path, "--", "train.py", status=2)
    assert found(content) == {("train.py", line_of(text, BEYOND), rule) for rule, text in BEYOND_SITES.items()}
    states = {one["rule"]: one["state"] for one in content["verdicts"]}
    assert states["ddp-missing-distributed-sampler"] == "cannot judge"  # the split is what is wrong


@pytest.mark.long
def test_a_rank_that_leaves_the_loop_is_found_at_its_statement(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEFT, encoding="utf-8")
    content = report(tmp_path, "--timeout=150", "--", "train.py", status=2)
    assert found(content) == {("train.py", line_of("break", LEFT), "ddp-rank-local-exit")}


@pytest.mark.long
def test_fake_cuda_shows_a_move_and_is_named_in_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    shutil.copytree(CASES / "device-bad-copy-goes-home", folder)
    content = report(folder, "--fake-cuda", "--", "train.py", status=1)
    assert {rule for _, _, rule in found(content)} == {"ddp-wrap-before-move"}
    assert content["fake_cuda"] is True
    assert any("ran on fake CUDA" in note for note in content["notes"])


@pytest.mark.long
def test_a_hang_ends_with_each_rank_s_place(tmp_path: Path) -> None:
    text = "import os, time\n\ndef wait():\n    time.sleep(900)\n\nif os.environ['RANK'] == '0':\n    wait()\nwait()\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    process = watch(tmp_path, "--timeout=12", "--", "train.py")
    assert process.returncode == 3, process.stderr
    assert "The script did not end in 12 seconds." in process.stdout
    assert (
        "No rank had joined a process group by then: where that only takes longer, raise --timeout." in process.stdout
    )
    assert "rank 0 stood at train.py:4 in wait, called from train.py:7 in <module>" in process.stdout
    assert "rank 1 stood at train.py:4 in wait, called from train.py:8 in <module>" in process.stdout


@pytest.mark.long
def test_a_crash_shows_the_first_real_error_and_what_was_found(tmp_path: Path) -> None:
    text = ALL_WRONG.replace(
        'print("the', 'if dist.get_rank() == 1:\n    raise ValueError("no such tide")\ndist.barrier()\n#'
    )
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    content = report(tmp_path, "--", "train.py", status=2)
    assert content["ended"]["error"] == "rank 1: ValueError: no such tide"
    assert {rule for _, _, rule in found(content)} == set(SITES)


def test_a_script_that_asks_for_cuda_is_told_of_fake_cuda(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.cuda.set_device(0)\n", encoding="utf-8")
    process = watch(tmp_path, "--spawn", "--", "train.py")
    assert process.returncode == 2, process.stderr
    assert "--fake-cuda lets it run without." in process.stdout


def test_a_full_disk_costs_the_report_for_a_machine_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    process = watch(tmp_path, "--spawn", "--json=/dev/full", "--", "train.py")
    assert process.returncode == 2
    assert process.stderr.startswith("ddplint-run: ")
    assert "No space left on device" in process.stderr
    assert "ddp-unguarded-save: not exercised" in process.stdout


@pytest.mark.parametrize("without", ["", "sys.modules['rich'] = None;"], ids=["rich", "no rich"])
def test_on_a_terminal_the_report_is_told_with_and_without_rich(without: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    code = f"import sys; {without} from ddplint.harness.command import main; sys.exit(main())"
    status, said = on_terminal([sys.executable, "-c", code, "watch", "--spawn", "--", "train.py"], tmp_path)
    assert status == 3
    assert ("\u2500" * 20 in said) == (not without)  # the line that rich draws under the heads of columns
    assert "ddp-unguarded-save: not exercised\n" in said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "ddplint-run watch: error: the following arguments are required: SCRIPT"),
        (("--", "none.py"), "ddplint-run: none.py: no such file"),
        (("--", "."), "ddplint-run: .: is a folder; name a script"),
        (("--json=none/report.json", "--", "train.py"), "ddplint-run: none: no such folder"),
        (("--json=.", "--", "train.py"), "ddplint-run: .: is a folder; name a file"),
        (("--json=", "--", "train.py"), "ddplint-run: .: is a folder; name a file"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(arguments: tuple[str, ...], line: str, script: Path) -> None:
    process = watch(script.parent, *arguments)
    told = [told for told in process.stderr.splitlines() if not told.startswith("usage: ")]
    assert (process.returncode, told, process.stdout) == (2, [line], "")


def test_a_folder_that_is_gone_is_told_in_one_line(tmp_path: Path) -> None:
    command = ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *WATCH, "--", "train.py"]
    (tmp_path / "gone").mkdir()
    process = run(command, tmp_path / "gone")
    line = "ddplint-run: the working directory is not there any more"
    assert (process.returncode, process.stderr.splitlines()[-1], process.stdout) == (2, line, "")


def test_what_the_output_cannot_hold_is_written_otherwise(tmp_path: Path) -> None:
    (tmp_path / "tr\xe4in.py").write_text("raise ValueError('caf\\xe9 \\udcff')\n", encoding="utf-8")
    process = run([*WATCH, "--spawn", "--", "tr\xe4in.py"], tmp_path, PYTHONIOENCODING="ascii")
    assert process.returncode == 2, process.stderr
    assert process.stdout.endswith("The script failed: ValueError: caf\\xe9 \\udcff\n")
