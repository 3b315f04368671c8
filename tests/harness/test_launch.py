"""However a program ends, there is one clear line and status, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run

import ddplint

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _signals_reach_what_is_started() -> Iterator[None]:
    """Also where these tests run in the background, with an interrupt and a hang-up ignored."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


HARNESS = [sys.executable, "-m", "ddplint.harness"]
WATCH = [*HARNESS, "watch"]
PLAIN = [*WATCH, "--spawn", "--"]  # without torchrun, which takes seconds to start
MARK = "DDPLINT_TEST_FOLDER"  # in the environment of all that a test starts

GROUP = """\
import os, signal, sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    {}
dist.all_reduce(torch.ones(1))
dist.barrier()
"""

FORKS = """\
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def be_rank(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    if rank == 1:
        raise ValueError("boom")
    dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    processes = [mp.Process(target=be_rank, args=(rank, sys.argv[1])) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"""

AT_A_FIXED_PORT = """\
import os, sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def be_rank(rank, run):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29765"
    dist.init_process_group("gloo", rank=rank, world_size=2)
    runs = torch.tensor([float(run), 1.0])
    dist.all_reduce(runs)
    assert runs.tolist() == [2.0 * run, 2.0]
    assert os.environ["MASTER_PORT"] == "29765"
    print(f"run {run}: together", flush=True)
    os._exit(0)  # past the interpreter's exit, where torch on gloo aborts at times


if __name__ == "__main__":
    mp.start_processes(be_rank, (int(sys.argv[1]),), nprocs=2, start_method="fork")
"""

# A rank that is ended while its interpreter exits, as torch on gloo does at times, and one that is ended before.
ABORTS = """\
import os, sys, time
import torch.distributed as dist
import torch.multiprocessing as mp


class Last:  # what sys still holds is deleted after the last exit handler
    def __del__(self, sleep=time.sleep, abort=os.abort):
        sleep(5)  # until the other rank has come to its end too
        abort()


def be_rank(rank, early):
    dist.init_process_group("gloo", "tcp://localhost:29765", rank=rank, world_size=2)
    dist.barrier()
    if rank == 1:
        sys.last_of_all = Last()
        if early:
            os.abort()


if __name__ == "__main__":
    early = len(sys.argv) > 1
    mp.start_processes(be_rank, (early,), nprocs=2, start_method="fork" if early else "spawn")
"""

# Children of every kind, of which none would end with its parent.
PARENT = """\
import os, signal, subprocess, sys, time

if "--stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"])
bare = "import os, time; os.fork() and os._exit(0); print(os.getpid(), flush=True); time.sleep(600)"
bare = subprocess.Popen([sys.executable, "-c", bare], env={}, stdout=subprocess.PIPE, text=True)
print("without an environment:", bare.stdout.readline(), end="")
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
if os.fork() == 0:
    time.sleep(600)
    os._exit(0)
print("ready", flush=True)
if "--ends" not in sys.argv:
    time.sleep(600)
os._exit(0)
"""


def write(folder: Path, script: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(script, encoding="utf-8")
    return path


def left_running(folder: Path) -> list[str]:
    """The processes marked with ``folder`` that are there after a while in which they could end."""
    mark = f"{MARK}={folder}".encode()
    for _ in range(100):
        left = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    left.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        if not left:
            break
        time.sleep(0.1)
    return left


def is_running(told: str) -> bool:
    """Whether the process is there that a line ends with."""
    return Path("/proc", told.rsplit(maxsplit=1)[-1]).exists()


def start(command: list[str], folder: Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables, MARK: str(folder)},
    )


@pytest.mark.parametrize(
    ("at_fault", "said"),
    [
        ("sys.exit(3)", "rank 1 ended with exit status 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "rank 1 was ended by SIGKILL"),
    ],
    ids=["exits", "is killed"],
)
def test_the_rank_at_fault_is_named_and_not_the_one_that_waited_for_it(
    tmp_path: Path, at_fault: str, said: str
) -> None:
    script = write(tmp_path, GROUP.format(at_fault))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {MARK: str(tmp_path), "TMPDIR": str(temporary)}
    process = run([*WATCH, "--", script.name], tmp_path, **variables)
    assert list(temporary.iterdir()) == []
    assert f"The script failed: {said}\n" in process.stdout, process.stderr
    assert process.returncode == 2
    assert left_running(tmp_path) == []


def test_the_error_of_a_process_that_the_script_does_not_ask_how_it_ended_is_told(tmp_path: Path) -> None:
    script = write(tmp_path, FORKS)
    process = run([*PLAIN, script.name, str(tmp_path / "meeting")], tmp_path, **{MARK: str(tmp_path)})
    assert "The script failed: rank 1: ValueError: boom\n" in process.stdout, process.stderr
    assert process.returncode == 2
    assert left_running(tmp_path) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys\nsys.exit(3)\n", "the script ended with exit status 3"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('data')\np.parse_args()\n", "exit status 2"),
        ("input('name? ')\n", "EOFError: EOF when reading a line"),
        (
            "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "with open('full', 'wb') as file:\n    file.write(bytes(5000))\n",
            "OSError: [Errno 27] File too large",
        ),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("import sys\nsys.excepthook = print\nraise ValueError('boom')\n", "ValueError: boom"),
        (
            "raise RuntimeError('\\n  no start\\n  before the end\\n\\n  more')\n",
            "RuntimeError: no start before the end",
        ),
        ("import os\nos.environ.clear()\nraise ValueError('boom')\n", "ValueError: boom"),
        ("class Mute(Exception):\n    __str__ = None\nraise Mute\n", "Mute: <exception str() failed>"),
    ],
    ids=[
        "exits",
        "needs arguments",
        "reads",
        "full disk",
        "no Python",
        "its own hook",
        "many lines",
        "no environment",
        "mute error",
    ],
)
def test_a_script_that_cannot_go_on(tmp_path: Path, script: str, said: str) -> None:
    process = run([*PLAIN, write(tmp_path, script, "-with space.py").name], tmp_path)
    (line,) = [line for line in process.stdout.splitlines() if line.startswith("The script failed: ")]
    assert said in line
    assert process.returncode == 2


@pytest.mark.parametrize("rank", [{}, {"RANK": "0"}], ids=["by hand", "on a rank"])
def test_where_ranks_are_to_meet_is_handed_on_unless_it_is_of_ranks_that_have_met(
    tmp_path: Path, rank: dict[str, str]
) -> None:
    script = write(tmp_path, "import os\nprint(os.environ.get('MASTER_ADDR'), flush=True)\nos.environ['RANK']\n")
    process = run([*PLAIN, script.name], tmp_path, MASTER_ADDR="localhost", **rank)
    assert process.stderr.startswith("None" if rank else "localhost")
    assert "The script failed: KeyError: 'RANK'" in process.stdout
    assert "--torchrun starts it as ranks." in process.stdout


def test_a_script_out_of_time_is_ended_where_it_stood(tmp_path: Path) -> None:
    script = write(tmp_path, "import time\n\ndef evaluate():\n    time.sleep(600)\n\nevaluate()\n")
    command = [*WATCH, "--spawn", "--timeout=2", "--", script.name]
    process = run(command, tmp_path, **{MARK: str(tmp_path)})
    assert "The script did not end in 2 seconds.\n" in process.stdout
    assert "script.py:4 in evaluate, called from" in process.stdout
    assert process.returncode == 3
    assert left_running(tmp_path) == []


def test_what_a_script_leaves_running_is_ended_and_nothing_is_left_in_a_folder(tmp_path: Path) -> None:
    temporary, work = tmp_path / "temporary", tmp_path / "work"
    temporary.mkdir()
    work.mkdir()
    script = write(work, PARENT)
    variables = {MARK: str(tmp_path), "TMPDIR": str(temporary)}
    process = run([*PLAIN, script.name, "--ends"], work, **variables)
    bare, ready = process.stderr.splitlines()
    assert ready == "ready"
    assert left_running(tmp_path) == []
    assert not is_running(bare)
    assert list(temporary.iterdir()) == []
    assert list(work.iterdir()) == [script]


@pytest.mark.parametrize(
    ("signals", "status"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 130),
        ([signal.SIGHUP], 130),
        ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130),
        ([signal.SIGKILL], -signal.SIGKILL),
    ],
    ids=["SIGINT", "SIGTERM", "SIGHUP", "impatience", "SIGKILL"],
)
def test_nothing_outlives_a_command_that_is_interrupted_or_killed(
    tmp_path: Path, signals: list[signal.Signals], status: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = write(tmp_path, PARENT)
    stubborn = ["--stubborn"] if len(signals) > 1 else []
    process = start([*PLAIN, script.name, *stubborn], tmp_path, TMPDIR=str(temporary))
    assert process.stderr is not None
    bare = process.stderr.readline()
    assert process.stderr.readline() == "ready\n"
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert errors == ("ddplint-run: interrupted\n" if status > 0 else "")
    assert left_running(tmp_path) == []
    if status > 0:
        assert not is_running(bare)
    else:
        os.kill(int(bare.split()[-1]), signal.SIGKILL)  # nothing tells then whose it is
    assert list(temporary.iterdir()) == []


def test_training_under_torchrun_is_ended_with_its_command(tmp_path: Path) -> None:
    process = start([*HARNESS, "train", "--epochs=100000"], tmp_path)
    assert process.stdout is not None
    assert any(line.startswith("epoch 0") for line in process.stdout)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.endswith("ddplint-run: interrupted\n")
    assert left_running(tmp_path) == []


def test_megabytes_of_output_pass_and_a_reader_may_leave(tmp_path: Path) -> None:
    text = "import sys\nfor _ in range(3000):\n    print('~' * 999)\n    print('%' * 999, file=sys.stderr)\n"
    command = [*PLAIN, write(tmp_path, text).name]
    errors = run(command, tmp_path).stderr
    assert (errors.count("~"), errors.count("%")) == (2_997_000, 2_997_000)
    process = start(command, tmp_path)
    assert process.stderr is not None
    assert process.stdout is not None
    process.stderr.readline()
    process.stderr.close()
    process.stdout.close()
    assert process.wait(30) == 2
    assert left_running(tmp_path) == []


def test_two_commands_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Though the script fixes a port."""
    script = write(tmp_path, AT_A_FIXED_PORT)
    processes = [start([*PLAIN, script.name, str(number)], tmp_path) for number in range(2)]
    outputs = [process.communicate(timeout=120) for process in processes]
    for number, (report, said) in enumerate(outputs):
        assert said.count(f"run {number}: together") == 2, said  # two ranks may write into one line
        assert "failed" not in report
    assert left_running(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "The work was done; afterwards process 1 terminated with"), (["early"], "The script failed: Process")],
    ids=["abort at exit", "abort in the program"],
)
def test_an_abort_of_a_spawned_rank_at_its_exit_is_told_apart(tmp_path: Path, arguments: list[str], said: str) -> None:
    assert said in run([*PLAIN, write(tmp_path, ABORTS).name, *arguments], tmp_path).stdout


def test_without_torch_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "ddplint").symlink_to(Path(ddplint.__file__).parent)
    command = [sys.executable, "-S", "-m", "ddplint.harness", "train"]
    process = run(command, tmp_path, PYTHONPATH=str(tmp_path))
    assert process.stderr == "ddplint-run: torch is not installed here: pip install 'ddplint[harness]'\n"
    assert process.returncode == 2
