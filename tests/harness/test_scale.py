"""``ddplint-run scale``: its arithmetic on numbers made by hand, and the command on the simulated device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import warm
from conftest import run

from ddplint.harness.scale import baseline, causes, plot, script, verdict, windows
from ddplint.harness.scale.figures import Interval, median_interval, ratio_interval, variation
from ddplint.harness.scale.report import Report
from ddplint.harness.scale.script import Step
from ddplint.harness.scale.windows import Row, Window
from ddplint.harness.statuses import HarnessError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Process


SCRIPT_PHASES = (windows.DATA, windows.FORWARD, windows.REST)


def run_scale(*arguments: str, folder: Path) -> Process:
    return run([sys.executable, "-m", "ddplint.harness", "scale", *arguments], folder)


def simulate(*arguments: str, folder: Path, rounds: int = 2) -> Process:
    return warm.run(["scale", "--device=sim", f"--rounds={rounds}", *arguments], folder)


# Figures


def test_a_median_lies_in_its_interval_and_repeats():
    interval = median_interval([10, 11, 12, 13, 100])
    assert interval.value == 12
    assert interval.low < 12 < interval.high
    assert interval == median_interval([10, 11, 12, 13, 100])


def test_equal_windows_leave_no_doubt():
    assert ratio_interval([300.0] * 3, [100.0] * 3, factor=4) == Interval(0.75, 0.75, 0.75)


def test_a_ratio_carries_the_spread_of_both():
    interval = ratio_interval([180, 200, 220], [100, 100, 100], factor=2)
    assert (interval.value, interval.low, interval.high) == (1.0, 0.9, 1.1)


def test_variation_is_the_deviation_over_the_mean():
    assert variation([90, 110]) == pytest.approx(0.1414, abs=1e-4)
    assert variation([90]) == 0.0


# Rows


def window(size: int, rank: int, number: int, seconds: float, variant: str = windows.AS_IS) -> Window:
    phases = {windows.DATA: seconds / 4, windows.FORWARD: seconds / 4, windows.BACKWARD: seconds / 2}
    return Window(size, rank, number, 10, 100, seconds, seconds / 2, phases, variant)


def test_a_window_is_as_fast_as_its_slowest_rank():
    measured = [window(1, 0, 0, 1.0), window(2, 0, 0, 1.0), window(2, 1, 0, 1.25)]
    one, two = windows.rows(measured, [1, 2])
    assert one.throughput.value == 100
    assert two.throughput.value == 160
    assert two.efficiency.value == 0.8
    assert two.data_share.value == 0.25
    assert two.cpu_share == 0.5
    assert two.batch == 10
    assert two.phases == {windows.DATA: 28.125, windows.FORWARD: 28.125, windows.BACKWARD: 56.25}


def test_variants_are_kept_apart():
    measured = [window(1, 0, 0, 1.0), window(1, 0, 0, 0.5, "kept"), window(2, 0, 0, 1.0), window(2, 1, 0, 1.0)]
    assert windows.throughputs(measured, 1) == [100]
    assert windows.throughputs(measured, 1, "kept") == [200]
    assert windows.efficiency(measured, 2, against="kept").value == 0.5


def test_windows_in_which_a_device_stood_still_are_left_out():
    sound, late = window(2, 0, 0, 1.0), replace(window(2, 0, 1, 1.0), lost=0.2)
    peer = window(2, 1, 1, 1.0)
    other = replace(window(1, 0, 1, 1.0), lost=0.3)
    # Its peers in the same window waited for it; of the windows of one rank there is no better one.
    assert windows.undisturbed([sound, late, peer, other]) == [sound, other]


# Verdict


def row(size: int, efficiency: float, *, doubt: float = 0.0, **changes: Any) -> Row:
    rate = 100 * size * efficiency
    values: dict[str, Any] = {
        "size": size,
        "throughput": Interval(rate, rate * (1 - doubt), rate * (1 + doubt)),
        "efficiency": Interval(efficiency, efficiency - doubt, efficiency + doubt),
        "data_share": Interval(0.05, 0.05, 0.05),
        "phases": {windows.DATA: 1.0, windows.FORWARD: 2.0, windows.BACKWARD: 4.0, windows.OPTIMIZER: 0.5},
        "spread": 0.01,
        "cpu_share": 1.0,
        "batch": 10.0,
    }
    return Row(**{**values, **changes})


def refusals(*rows: Row, cores: int | None = 4, others: float = 0.0) -> list[str]:
    return verdict.refusals(rows, cores=cores, others=others, computes=True)


def test_a_quiet_machine_gives_a_verdict():
    assert refusals(row(1, 1.0), row(4, 0.9)) == []


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        (refusals(row(1, 1.0), row(8, 0.5)), "8 processes shared 4 cores"),
        (refusals(row(1, 1.0), row(4, 0.9), others=1.0), "other processes kept 1.0 of 4 cores busy"),
        (refusals(row(1, 1.0, cpu_share=0.8), row(2, 0.9)), "a core for only 80% of the time"),
        (refusals(row(1, 1.0), row(4, 0.9, lost_share=0.3)), "too busy to simulate 4 devices"),
        (refusals(row(1, 1.0), row(2, 0.9, spread=0.12)), "samples/s of 2 varied by 12%"),
        (refusals(row(1, 1.0), row(2, 0.9, doubt=0.06)), "anything from 84% to 96%"),
    ],
)
def test_no_verdict_is_given_on(reasons: list[str], text: str):
    assert len(reasons) == 1
    assert text in reasons[0]


def test_cores_that_are_left_are_enough():
    assert refusals(row(1, 1.0), row(2, 0.9), others=2.0) == []


def test_simulated_time_needs_no_core():
    assert refusals(row(1, 1.0, cpu_share=0.1), row(8, 0.9), cores=None, others=2.0) == []


def test_the_row_to_look_at_is_the_worst_below_90_percent():
    rows = [row(1, 1.0), row(2, 0.8), row(4, 0.85)]
    assert verdict.look_here(rows) is rows[1]
    assert verdict.look_here([row(1, 1.0), row(2, 0.9)]) is None


def test_a_loader_slow_on_every_rank_is_told_by_one():
    assert "40% of each step" in (verdict.slow_loader([row(1, 1.0, data_share=Interval(0.4, 0.4, 0.4))]) or "")
    assert verdict.slow_loader([row(1, 1.0)]) is None


# Causes


@pytest.mark.parametrize(
    ("figures", "cause"),
    [
        ((0.89, 0.87, 0.98, 1.06, (12.5, 12.6, 12.5, 12.6)), None),
        ((0.53, 0.91, 0.89, 1.05, (44.0, 43.0, 48.0, 47.0)), "loader"),  # no_sync gives back much too, and is second
        ((0.76, 0.80, 0.98, 1.88, (8.3, 8.3, 8.3, 8.3)), "batch"),
        ((0.61, 0.63, 0.99, 1.07, (12.6, 12.6, 12.6, 12.6)), "interconnect"),
        ((0.60, 0.61, 0.68, 1.06, (12.5, 12.2, 17.9, 12.3)), "straggler"),
        ((0.67, 0.67, 0.67, 1.06, (12.0, 18.0)), "straggler"),
    ],
)
def test_the_first_cause_is(figures: tuple[float, float, float, float, tuple[float, ...]], cause: str | None):
    found = causes.first(causes.readings(causes.Trials(4, *figures)))
    assert (found and found.cause) == cause


# Baselines


def saved(*rows: Row) -> baseline.Baseline:
    figures = {row.size: baseline.Figures(row.throughput, row.efficiency, row.data_share) for row in rows}
    return baseline.Baseline("before.json", {"cores": 2}, "2.13.0", figures)


def test_a_drop_beyond_the_intervals_is_told():
    found = baseline.drops(saved(row(2, 0.9, doubt=0.01)), [row(2, 0.8, doubt=0.01)])
    assert found == ["samples/s at 2 fell from 180.0 to 160.0", "efficiency at 2 fell from 90.0% to 80.0%"]


def test_a_drop_within_the_intervals_is_none():
    assert baseline.drops(saved(row(2, 0.9, doubt=0.06)), [row(2, 0.8, doubt=0.06)]) == []
    assert baseline.drops(saved(row(2, 0.9)), [row(2, 0.89)]) == []
    assert baseline.drops(saved(row(2, 0.8)), [row(2, 0.9)]) == []


def test_more_waiting_for_data_is_told():
    found = baseline.drops(saved(row(1, 1.0)), [row(1, 1.0, data_share=Interval(0.3, 0.29, 0.31))])
    assert found == ["data wait at 1 rose from 5.0% to 30.0%"]


def test_another_machine_is_not_compared_with():
    with pytest.raises(HarnessError, match="it has cores 2 and this run has 4"):
        baseline.require_equal(saved(row(1, 1.0)), {"cores": 4})


# A script's steps


def steps(number: int, *, every: float = 0.1, **changes: Any) -> list[Step]:
    values = {"samples": 8, "waited": every / 4, "forward": every / 4, **changes}
    return [Step(end=every * (step + 1), cpu=every / 2 * (step + 1), **values) for step in range(number)]


def test_a_window_of_a_script_begins_after_the_warm_up():
    found = script.window(steps(25), size=2, rank=1, number=0)
    assert (found.steps, found.samples, found.seconds) == (20, 160, pytest.approx(2.0))
    assert found.cpu == pytest.approx(1.0)
    assert found.phases == {
        name: pytest.approx(share) for name, share in zip(SCRIPT_PHASES, (0.5, 0.5, 1.0), strict=True)
    }


def test_a_script_without_a_loader_has_no_wait_to_show():
    assert script.window(steps(25), size=1, rank=0, number=0).loaded
    assert not script.window(steps(25, waited=None), size=1, rank=0, number=0).loaded


def test_ranks_are_compared_over_the_steps_all_made():
    assert [len(taken) for taken in script.shared([steps(30), steps(25)], 2)] == [25, 25]


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([], "with 2 processes: no optimizer step was seen"),
        ([steps(30)], "only 1 of 2 ranks made optimizer steps"),
        ([steps(30), steps(14)], "14 optimizer steps are too few"),
        ([steps(30), steps(30, samples=None)], "no forward of a DistributedDataParallel model"),
        ([steps(30), steps(30, every=0.01)], "30 optimizer steps took 0.25 s"),
    ],
)
def test_what_cannot_be_measured_is_told(ranks: list[list[Step]], text: str):
    with pytest.raises(HarnessError, match=text) as raised:
        script.shared(ranks, 2)
    assert raised.value.status == 3


def test_batches_that_change_with_the_size_are_told():
    assert "10 samples a step alone and 5 among 2" in (verdict.uneven([row(1, 1.0), row(2, 0.9, batch=5.0)]) or "")
    assert verdict.uneven([row(1, 1.0), row(2, 0.9)]) is None


# The picture


@pytest.mark.parametrize("refused", [[], ["8 processes shared 2 cores & <more>"]])
def test_the_picture_is_xml_with_every_row(refused: list[str]):
    rows = [row(1, 1.0), row(2, 0.954), row(16, 0.612, doubt=0.03)]
    report = Report("sim", ("a <b> & c.py",), None, 2, 1, "2.13.0", rows, refused, None)
    texts = [element.text for element in ET.fromstring(plot.draw(report)).iter() if element.text]  # noqa: S314
    for text in ("100.0", "95.4", "61.2", "1", "2", "16", "Time of a step, ms", "processes", windows.DATA):
        assert text in texts
    assert any("No verdict" in text for text in texts) == bool(refused)


# The command


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Process, Path]:
    """A measurement with all that can be written about it, and the folder with the files."""
    folder = tmp_path_factory.mktemp("scale")
    files = ["--save=base.json", "--json=report.json", "--plot=plot.svg"]
    return simulate("--sizes=1,2", "--causes", *files, folder=folder), folder


def test_a_sound_device_scales_and_has_no_cause(measured: tuple[Process, Path]):
    result, folder = measured
    assert result.returncode == 0, result.stdout + result.stderr
    assert "says nothing about this machine" in result.stdout
    assert "No efficiency is below 90%" in result.stdout
    assert "No cause is named" in result.stdout
    assert "look here" not in result.stdout
    report = json.loads((folder / "report.json").read_text())
    # A step takes 2.4 ms of loading, 32 of computing and 1 of updating, and on several ranks 1 more.
    alone, two = report["rows"]
    assert alone["throughput"]["value"] == pytest.approx(12 / 0.0354, rel=0.03)
    assert alone["data_share"]["value"] == pytest.approx(2.4 / 35.4, abs=0.01)
    assert two["efficiency"]["value"] == pytest.approx(35.4 / 36.4, abs=0.03)
    assert report["cause"] is None
    assert json.loads((folder / "base.json").read_text()) == report
    assert ET.fromstring((folder / "plot.svg").read_text()).tag.endswith("svg")  # noqa: S314


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, warm.Job], Path]:
    """Measurements with a fault each, all at once, which simulated time allows; the folder has what they write."""
    folder = tmp_path_factory.mktemp("faulty")
    command = ["scale", "--device=sim", "--rounds=1", "--sizes=1,3", "--causes"]
    return {
        fault: warm.Job([*command, f"--inject={fault}", f"--json={fault}.json"], folder) for fault in FAULTS
    }, folder


FAULTS = ("loader", "batch", "straggler")


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_an_injected_fault_is_named(fault: str, faulty: tuple[dict[str, warm.Job], Path]):
    jobs, folder = faulty
    result = jobs[fault].result()
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"First cause: {fault}." in result.stdout
    assert ("<- look here" in result.stdout) == (fault != "batch")
    assert json.loads((folder / f"{fault}.json").read_text())["cause"] == fault


@pytest.mark.long
def test_a_slow_interconnect_is_named_and_misses_the_baseline(
    measured: tuple[Process, Path],
):
    _, folder = measured
    options = ["--sizes=1,2", "--causes", "--inject=interconnect", "--baseline=base.json"]
    result = simulate(*options, folder=folder)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "First cause: interconnect." in result.stdout
    assert "efficiency at 2 fell from" in result.stdout
    assert "samples/s at 1" not in result.stdout


def test_the_same_again_meets_the_baseline(measured: tuple[Process, Path]):
    _, folder = measured
    result = simulate("--sizes=1,2", "--baseline=base.json", folder=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "No worse than" in result.stdout


@pytest.fixture
def busy() -> Iterator[None]:
    """Every core kept busy by another process."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.long
@pytest.mark.usefixtures("busy")
def test_a_busy_machine_gets_no_verdict(tmp_path: Path):
    result = warm.run(["scale", "--device=cpu", "--sizes=1,2", "--rounds=1", "--save=base.json"], tmp_path)
    assert result.returncode == 3, result.stdout + result.stderr
    assert "No verdict" in result.stdout
    assert "other processes kept" in result.stdout
    assert "base.json is not written" in result.stdout
    assert not (tmp_path / "base.json").exists()


SCRIPT = """
import sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Slow(Dataset):
    def __len__(self):
        return 8 * 25 * dist.get_world_size()

    def __getitem__(self, index):
        time.sleep(float(sys.argv[1]) / 8)
        return torch.full((4,), index / 1000)

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
dataset = Slow()
for inputs in DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset)):
    loss = model(inputs).mean()
    loss.backward()
    time.sleep(0.01)
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
"""


SPAWNS = """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    DistributedDataParallel(torch.nn.Linear(4, 1))


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""


@pytest.mark.long
def test_a_script_is_measured_as_it_is(tmp_path: Path):
    (tmp_path / "train.py").write_text(SCRIPT)
    options = ["--sizes=1,2", "--rounds=1", f"--json={tmp_path}/report.json", f"--plot={tmp_path}/plot.svg"]
    result = run_scale(*options, "--script", "train.py", "0.03", folder=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert result.returncode == (3 if report["refused"] else 0), result.stdout + result.stderr
    assert report["script"] == ["train.py", "0.03"]
    assert [row["batch"] for row in report["rows"]] == [8, 8]
    # Each sample sleeps as long as it is told, and each step 10 ms more; a busy machine only makes both longer.
    alone = report["rows"][0]
    assert alone["phases"]["data wait"] >= 30
    assert alone["throughput"]["value"] <= 8 / 0.04
    assert 0.3 < alone["data_share"]["value"] < 0.8
    assert ET.fromstring((tmp_path / "plot.svg").read_text()).tag.endswith("svg")  # noqa: S314


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "status", "line"),
    [
        ("pass", 3, "the script cannot be measured with 1 process: no optimizer step was seen"),
        ("import sys; sys.exit(4)", 2, "train.py, with 1 process: rank 0 ended with exit status 4"),
        (SPAWNS, 3, "train.py starts its ranks itself"),
    ],
)
def test_a_script_that_cannot_be_measured(text: str, status: int, line: str, tmp_path: Path):
    (tmp_path / "train.py").write_text(text)
    result = run_scale("--sizes=1", "--script", "train.py", folder=tmp_path)
    assert result.returncode == status, result.stderr
    assert line in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--sizes=1,x"], "'x' is not a number from 1 on"),
        (["--sizes=0,1"], "'0' is not a number from 1 on"),
        (["--sizes="], "'' is not a number from 1 on"),
        (["--sizes=2,4"], "1 has to be among the sizes"),
        (["--sizes=1,65"], "65 is more than 64"),
        (["--inject=gremlin"], "invalid choice: 'gremlin'"),
        (["--sizes=1", "--causes"], "needs a size above 1"),
        (["--baseline=missing.json"], "missing.json: No such file or directory"),
        (["--baseline=broken.json"], "broken.json: not a saved measurement"),
        (["--baseline=other.json"], "other.json: not a measurement saved by this version"),
        (["--baseline=part.json"], "part.json: a part of the saved measurement is missing"),
        (["--baseline=nan.json"], "nan.json: a part of the saved measurement is missing or is no figure"),
        (["--save=missing/base.json"], "missing: no such folder"),
        (["--plot=."], ".: is a folder; name a file"),
        (["--script"], "--script needs a script"),
        (["--script", "missing.py"], "missing.py: no such file"),
        (["--causes", "--script", "broken.json"], "--causes changes the training"),
        (["--inject=batch", "--script", "broken.json"], "--inject changes the training"),
        (["--device=sim", "--script", "broken.json"], "leave --device sim out"),
    ],
)
def test_bad_input_gets_one_line(arguments: list[str], text: str, tmp_path: Path):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / "part.json").write_text('{"schema": "ddplint-scale-1", "rows": [{}]}')
    figure = dict.fromkeys(("value", "low", "high"), float("nan"))
    row = {"size": 1, **dict.fromkeys(("throughput", "efficiency", "data_share"), figure)}
    facts = {"device": "cpu", "script": [], "cores": 2, "sizes": [1], "refused": [], "torch": "2.13.0"}
    (tmp_path / "nan.json").write_text(json.dumps({"schema": "ddplint-scale-1", "rows": [row], **facts}))
    result = warm.run(["scale", *arguments], tmp_path)
    assert result.returncode == 2
    assert text in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
