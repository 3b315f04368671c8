"""What the probe writes down of programs that run under torchrun, that spawn their ranks, and that have no torch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ddplint.harness import guard, launch
from ddplint.harness.watch import events
from ddplint.harness.watch.probe import meeting

pytestmark = pytest.mark.long

Events = list[dict[str, Any]]

TRAINING = """\
import copy, json, os, shutil, sys, tempfile, warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, Sampler, Subset, TensorDataset

warnings.simplefilter("error")
warnings.filterwarnings("ignore", "`torch.jit")
OUT = Path(sys.argv[1])


def tell(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # in one piece


class InOrder(Sampler):
    def __init__(self, count):
        self.count, self.epoch = count, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self):
        return self.count


class Shards(DistributedSampler):
    def __init__(self, data):
        super().__init__(data, seed=1)


class Loader(DataLoader):
    def __init__(self, data, **options):
        super().__init__(data, batch_size=4, **options)


class Stream(IterableDataset):
    def __iter__(self):
        yield from torch.arange(8.0).reshape(8, 1)


class Wrapper(DDP):
    def __init__(self, net):
        super().__init__(net)


class Halved(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.linear = nn.Linear(rows, 1)

    def forward(self, x):
        return self.linear(x) / 2


class Writing(TensorDataset):
    def __getitem__(self, index):
        OUT.joinpath(f"worker-{dist.get_rank()}").write_text("seen")  # worker-writes
        return super().__getitem__(index)


def build(kind, *arguments, **options):
    return kind(*arguments, **options)  # factory


def see_data(rank):
    x = torch.arange(16.0).reshape(16, 1)
    data = TensorDataset(x, x)
    shards = Shards(data)  # shards
    workers = Loader(data, sampler=shards, num_workers=2, persistent_workers=True)  # workers
    order = InOrder(8)  # order
    part = build(DataLoader, Subset(data, range(8, 16)), batch_size=8, sampler=order)  # part
    order.set_epoch(3)  # set-epoch
    stream = DataLoader(Stream(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    for epoch in range(2):
        shards.set_epoch(epoch)
        for inputs, targets in workers:  # pass
            pass
    for loader in (part, stream):
        for batch in loader:
            pass
    with torch.no_grad():
        next(iter(DataLoader([{"id": torch.tensor(n), "text": "a"} for n in range(3)], batch_size=3, shuffle=True)))
    next(iter(DataLoader(Writing(x), num_workers=1)))
    for kind in (lambda _: torch.eye(2).to_sparse(), lambda _: torch.empty(2, 2, device="meta"), str):
        next(iter(DataLoader([0, 1], batch_size=2, collate_fn=kind)))  # odd-batches
    del workers


def train(rank):
    model = Wrapper(Halved(1))  # wrap
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.arange(8.0).reshape(8, 1) + rank
    quiet = model.no_sync  # taken
    for _ in range(3):
        model(x).sum().backward()
    optimizer.step()  # step-of-3
    with quiet():  # entered
        model(x).sum().backward()  # quiet-backward
    torch.autograd.backward(model(x).sum())  # loud-backward
    optimizer.step()  # step-of-1
    model.module(x).sum().backward()  # inner
    with torch.no_grad():
        model.module(x)
    optimizer.step()
    return model


def train_otherwise(rank):
    x = torch.arange(8.0).reshape(8, 1) + rank
    sharded = DDP(nn.Linear(1, 3))
    zero = ZeroRedundancyOptimizer(sharded.parameters(), optimizer_class=torch.optim.Adam, lr=0.1)
    for _ in range(2):
        sharded(input=x).sum().backward()
        zero.step()  # zero
    hooked = DDP(nn.Linear(1, 1))  # hooked

    def doubled(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        return allreduce_hook(state, bucket).then(lambda future: future.value() * 2)

    hooked.register_comm_hook(None, doubled)
    try:
        hooked.register_comm_hook(None, doubled)
    except RuntimeError as error:
        tell("refused:", error)
    hooked(torch.ones(1, 1)).sum().backward()
    tell("doubled:", hooked.module.weight.grad.item())
    rows = DDP(nn.Embedding(4, 1, sparse=True))
    rows(torch.tensor([rank, 3])).sum().backward()
    tell("sparse:", rows.module.weight.grad.to_dense().flatten().tolist())
    closed = torch.optim.LBFGS(hooked.parameters(), max_iter=3)

    def closure():
        closed.zero_grad()
        loss = hooked(x).square().mean()
        loss.backward()  # in-a-step
        return loss

    closed.step(closure)
    again = copy.deepcopy(sharded)
    again(x).sum().backward()
    tell("copied:", again.module.weight.grad.sum().item())


def train_compiled(rank):
    x = torch.arange(8.0).reshape(8, 1) + rank
    whole = torch.compile(DDP(Halved(1)), backend="eager")
    inside = DDP(torch.compile(Halved(1), backend="eager", fullgraph=True))
    for model in (whole, inside):
        for _ in range(2):
            model(x).sum().backward()  # compiled
    outer = DDP(Halved(1))

    @torch.compile(backend="eager")
    def step(x):
        outer(x).sum().backward()  # compiled-step

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.compile's own, of a tensor's grad
        for _ in range(2):
            step(x)
    return whole


def move():
    model = DDP(nn.Linear(1, 1))
    model.to("cpu")  # to-same
    model.double().float()  # cast
    model(torch.ones(1, 1)).sum().backward()
    assigned = DDP(nn.Linear(1, 1))
    assigned.module.bias.data = assigned.module.bias.data.double()
    assigned.module.bias.data = assigned.module.bias.data.float()
    assigned(torch.ones(1, 1)).sum().backward()


def write(rank, model, compiled):
    state = model.state_dict()  # state
    kept = {"epoch": 1, "nets": [{name: value.clone() for name, value in state.items()}]}
    torch.save(kept, OUT / "all.pt")  # save-copy
    torch.save(model.module.state_dict(), OUT / f"plain-{rank}.pt")  # save-plain
    torch.save({"loss": 0.5}, OUT / f"numbers-{rank}.pt")  # save-numbers
    torch.save({"whole": model}, OUT / f"wrapper-{rank}.pt")  # save-wrapper
    torch.save(model.module, OUT / f"module-{rank}.pt")
    torch.save(compiled.state_dict(), OUT / f"compiled-{rank}.pt")  # save-compiled
    torch.jit.script(nn.Linear(1, 1)).save(OUT / f"scripted-{rank}.pt")  # save-scripted
    torch.jit.script(model.module)
    with open(OUT / f"log-{rank}", "w") as file:  # open
        file.write("x")
    Path(OUT, f"text-{rank}").write_text("x")  # write-text
    shutil.copy(OUT / f"text-{rank}", OUT / f"copy-{rank}")  # copy
    os.replace(OUT / f"copy-{rank}", OUT / f"new-{rank}")  # replace
    os.remove(OUT / f"new-{rank}")  # remove
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        torch.save(state, file)
        Path(folder, "x").write_text("x")
    plain = Halved(1)
    plain.load_state_dict(torch.load(OUT / f"plain-{rank}.pt"))  # load
    plain.load_state_dict(state, strict=False)  # load-wrong


def main():
    dist.init_process_group("gloo")  # init
    rank = dist.get_rank()
    torch.manual_seed(0)
    see_data(rank)
    model = train(rank)
    train_otherwise(rank)
    tell("trained:", [parameter.flatten().tolist() for parameter in model.parameters()])
    if "--briefly" not in sys.argv:
        compiled = train_compiled(rank)
        move()
        write(rank, model, compiled)
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0) if rank == 1 else None


if __name__ == "__main__":
    main()
"""

SPAWNING = """\
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def run(rank, world, loader):
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/meeting", rank=rank, world_size=world)
    model = DDP(nn.Linear(1, 1))
    sampler = DistributedSampler(loader.dataset)
    for (x,) in DataLoader(loader.dataset, batch_size=2, sampler=sampler):
        model(x).sum().backward()
    dist.barrier()
    if rank == 1:
        raise ValueError("one rank fails")  # crash


if __name__ == "__main__":
    mp.spawn(run, args=(2, DataLoader(TensorDataset(torch.arange(8.0).reshape(8, 1)))), nprocs=2)
"""

WITHOUT_TORCH = """\
import sys
open(f"{sys.argv[1]}/out.txt", "w").write("written")
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("torch", "numpy")))
sys.exit(3)
"""


class Observed:
    """A program that was run with the probe, and what it wrote."""

    def __init__(self, source: str, folder: Path, *options: str, spawns: bool = False, probe: bool = True) -> None:
        self.script = folder / "train.py"
        self.script.write_text(source, encoding="utf-8")
        self.out = folder / "out"
        self.notes = folder / "notes"
        self.out.mkdir()
        self.notes.mkdir()
        environment = {events.EVENTS: str(self.notes)} if probe else {}
        arguments = (str(self.out), *options)
        program = launch.Program(str(self.script), arguments, spawns=spawns, timeout=300, environment=environment)
        with Path(folder, "stdout").open("w+b") as stdout:
            self.ended = launch.run(program, self.notes, stdout)
            stdout.seek(0)
            self.printed = sorted(stdout.read().decode().splitlines())
        self.events = events.read(self.notes)
        self._lines = source.splitlines()

    def of(self, kind: str, rank: int | None = 0, **fields: object) -> Events:
        """The events of that ``kind`` of ``rank`` with these ``fields``."""
        found = [event for event in self.events if event["ev"] == kind and event["rank"] == rank]
        return [event for event in found if all(event[name] == value for name, value in fields.items())]

    def at(self, mark: str) -> str:
        """The site of the line that ends with the comment ``mark``."""
        number = next(n for n, line in enumerate(self._lines, 1) if line.endswith(f"# {mark}"))
        return f"{self.script}:{number}"

    def made(self, kind: str, mark: str, rank: int = 0) -> dict[str, Any]:
        """The one event of that ``kind`` at the line ``mark``."""
        (found,) = [event for event in self.of(kind, rank) if event["sites"][:1] == [self.at(mark)]]
        return found


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    return Observed(TRAINING, tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="module")
def spawning(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    return Observed(SPAWNING, tmp_path_factory.mktemp("spawning"), spawns=True)


def test_the_program_ends_well_and_nothing_of_the_probe_fails(training: Observed) -> None:
    assert (training.ended.error, training.ended.timed_out) == (None, False)
    assert [event for event in training.events if event["ev"] == "fault"] == []
    assert {tuple(event["missing"]) for event in training.of("start")} == {()}
    assert [(event["asked"], event["backend"], event["world"]) for event in training.of("init")] == [
        ("gloo", "gloo", 2)
    ]


def test_what_is_computed_stays_the_same(training: Observed, tmp_path: Path) -> None:
    alone = Observed(TRAINING, tmp_path, "--briefly", probe=False)
    assert alone.events == []
    assert training.printed == alone.printed
    assert Counter(line.partition(":")[0] for line in alone.printed) == dict.fromkeys(
        ["trained", "sparse", "doubled", "refused", "copied"], 2
    )
    assert "doubled: 2.0" in alone.printed
    for path in training.out.glob("*.pt"):
        assert b"ddplint" not in path.read_bytes(), path.name


@pytest.mark.parametrize("number", [0, 1])
def test_the_rows_of_a_pass_are_shared_out(training: Observed, number: int) -> None:
    loader = training.made("loader", "workers")["loader"]
    seen = [training.of("batch", rank, loader=loader, number=number) for rank in range(2)]
    indices = [[index for event in mine for index in event["index"]] for mine in seen]
    rows = [[row for event in mine for row in event["rows"]] for mine in seen]
    assert sorted(indices[0] + indices[1]) == list(range(16))
    assert len(set(rows[0] + rows[1])) == 16
    assert len(training.of("pass_end", loader=loader, number=number)) == 1


def test_the_order_changes_with_the_epoch_and_a_row_keeps_its_hash(training: Observed) -> None:
    loader = training.made("loader", "workers")["loader"]
    passes = [
        {
            index: row
            for event in training.of("batch", loader=loader, number=n)
            for index, row in zip(event["index"], event["rows"], strict=True)
        }
        for n in range(2)
    ]
    assert list(passes[0]) != list(passes[1])
    both = passes[0].keys() & passes[1].keys()
    assert both
    assert all(passes[0][index] == passes[1][index] for index in both)


def test_indices_are_those_under_a_subset(training: Observed) -> None:
    loader = training.made("loader", "factory")
    assert loader["sites"][1] == training.at("part")
    (batch,) = training.of("batch", loader=loader["loader"])
    assert batch["index"] == list(range(8, 16))
    whole = training.made("loader", "workers")["loader"]
    rows = [row for rank in range(2) for event in training.of("batch", rank, loader=whole) for row in event["rows"]]
    assert set(batch["rows"]) < set(rows)


def test_a_stream_has_rows_and_no_indices(training: Observed) -> None:
    (loader,) = training.of("loader", iterable=True)
    assert (loader["sampler"], loader["length"], loader["workers"]) == (None, None, 1)
    batches = training.of("batch", loader=loader["loader"])
    assert [event["index"] for event in batches] == [None, None]
    assert len({row for event in batches for row in event["rows"]}) == 8


def test_a_batch_of_a_dictionary_has_rows(training: Observed) -> None:
    (batch,) = training.of("batch", grad=False)
    assert (len(batch["index"]), len(set(batch["rows"]))) == (3, 3)


def test_a_batch_whose_rows_cannot_be_had_has_none(training: Observed) -> None:
    numbers = [event["loader"] for event in training.of("loader") if event["sites"][0] == training.at("odd-batches")]
    batches = [event for number in numbers for event in training.of("batch", loader=number)]
    assert [event["index"] for event in batches] == [[0, 1]] * 3
    assert [event["rows"] for event in batches[:2]] == [None, None]


def test_samplers_are_told_with_what_they_are_and_where_they_are_made(training: Observed) -> None:
    shards, order = training.made("sampler", "shards"), training.made("sampler", "order")
    assert [shards[name] for name in ("distributed", "shuffle", "replicas", "sampler_rank")] == [True, True, 2, 0]
    assert [order[name] for name in ("cls", "distributed", "shuffle")] == ["__main__.InOrder", False, None]
    assert training.made("loader", "workers")["sampler"] == shards["sampler"]
    assert training.made("loader", "factory")["sampler"] == order["sampler"]
    set_epoch = training.made("set_epoch", "set-epoch")
    assert (set_epoch["sampler"], set_epoch["epoch"]) == (order["sampler"], 3)
    assert [event["epoch"] for event in training.of("set_epoch", sampler=shards["sampler"])] == [0, 1]


def test_a_file_written_in_a_loaders_worker_is_the_workers(training: Observed) -> None:
    for rank in range(2):
        written = [event for event in training.of("open", rank) if event["worker"]]
        assert {event["sites"][0] for event in written} == {training.at("worker-writes")}
        assert not {event["pid"] for event in written} & {event["pid"] for event in training.of("init", rank)}


@pytest.mark.parametrize("rank", [0, 1])
def test_reduces_are_counted_for_each_step(training: Observed, rank: int) -> None:
    model = training.made("wrap", "wrap", rank)["model"]
    story = [event for event in training.events if event["rank"] == rank and event.get("model", model) == model]
    syncs: dict[str, int] = {}
    count = 0
    for event in story:
        count += event["ev"] == "sync"
        if event["ev"] == "step":
            syncs[event["sites"][0]] = count
            count = 0
    assert syncs[training.at("step-of-3")] == 3
    assert syncs[training.at("step-of-1")] == 1


def test_forwards_and_backwards_are_told_with_their_sync(training: Observed) -> None:
    model = training.made("wrap", "wrap")["model"]
    forwards = {event["sites"][0]: event["sync"] for event in training.of("forward", model=model)}
    assert forwards[training.at("quiet-backward")] is False
    assert forwards[training.at("loud-backward")] is True
    assert all(len(event["rows"]) == 8 for event in training.of("forward", model=model))
    backwards = Counter(event["sites"][0] for event in training.of("backward"))
    assert [backwards[training.at(mark)] for mark in ("quiet-backward", "loud-backward", "inner")] == [1, 1, 1]
    assert training.made("backward", "inner")["reached"] == [model]
    assert len(training.of("backward_begun")) == len(training.of("backward"))
    stepping = {event["sites"][0] for event in training.of("backward") if event["stepping"]}
    assert stepping == {training.at("in-a-step")}


def test_no_sync_is_told_where_it_is_taken_and_where_it_is_entered(training: Observed) -> None:
    (event,) = training.of("no_sync")
    assert (event["taken"][0], event["sites"][0]) == (training.at("taken"), training.at("entered"))
    assert len(training.of("no_sync_end")) == 1


def test_a_forward_of_the_inner_module_is_told(training: Observed) -> None:
    assert [event["sites"][0] for event in training.of("inner")] == [training.at("inner")]


def test_the_ranks_parameters_have_one_digest_until_the_wrapper_is_passed_by(training: Observed) -> None:
    model = training.made("wrap", "wrap")["model"]
    first, second = (
        [event["digest"][str(model)] for event in training.of("step", rank) if model in event["models"]]
        for rank in range(2)
    )
    assert first[:2] == second[:2]
    assert first[2] != second[2]
    assert len(set(first)) == 3


def test_an_optimizer_that_steps_with_another_steps_once(training: Observed) -> None:
    zero = [
        [event for event in training.of("step", rank) if event["sites"][0] == training.at("zero")] for rank in range(2)
    ]
    assert [len(mine) for mine in zero] == [2, 2]
    assert [event["digest"] for event in zero[0]] == [event["digest"] for event in zero[1]]


def test_a_hook_of_the_programs_own_is_kept_and_counted(training: Observed) -> None:
    model = training.made("wrap", "hooked")["model"]
    assert len(training.of("sync", model=model)) == len(training.of("forward", model=model)) > 0


def test_compiled_models_and_steps_are_observed(training: Observed) -> None:
    lines = (training.at("compiled"), training.at("compiled-step"))
    forwards = Counter(event["model"] for event in training.of("forward") if event["sites"][0] in lines)
    assert list(forwards.values()) == [2, 2, 2]
    assert [len(training.of("sync", model=model)) for model in forwards] == [2, 2, 2]


def test_moves_are_told_with_the_accumulators_they_cost(training: Observed) -> None:
    moves = training.of("move")
    told = [(event["sites"][:1], event["reset"], event["before"], event["after"]) for event in moves]
    assert told == [
        ([training.at("to-same")], 0, ["cpu/float32"], ["cpu/float32"]),
        ([training.at("cast")], 2, ["cpu/float32"], ["cpu/float64"]),
        ([training.at("cast")], 0, ["cpu/float64"], ["cpu/float32"]),
        ([], 1, None, ["cpu/float32"]),
    ]
    assert training.of("sync", model=moves[0]["model"]) == []


def test_saves_are_told_with_the_prefixed_keys_in_them(training: Observed) -> None:
    model = training.made("wrap", "wrap")["model"]
    state = training.made("state", "state")
    told = {event["sites"][0]: event for event in training.of("save")}
    copied = told[training.at("save-copy")]
    assert copied["path"] == str(training.out / "all.pt")
    assert copied["prefixed"] == [{"at": "['nets'][0]", "keys": 2, "of": 2, "model": model, "state": state["state"]}]
    assert told[training.at("save-plain")]["prefixed"] == []
    marks = ("save-copy", "save-plain", "save-wrapper", "save-scripted", "save-numbers")
    assert [told[training.at(mark)]["tensors"] for mark in marks] == [True, True, True, True, False]
    assert [event["wrapper"] for event in told.values()].count(True) == 1
    assert told[training.at("save-wrapper")]["wrapper"]
    (compiled,) = told[training.at("save-compiled")]["prefixed"]
    assert (compiled["keys"], compiled["model"]) != (0, model)
    assert told[training.at("save-scripted")]["path"] == str(training.out / "scripted-0.pt")


def test_files_are_told_with_the_rank_that_writes_them(training: Observed) -> None:
    for rank in range(2):
        written = [
            (event["ev"], event["path"], event["through"], event["sites"][0])
            for event in training.events
            if event["ev"] in ("open", "rename", "remove") and event["rank"] == rank and not event["worker"]
        ]
        assert written == [
            ("open", str(training.out / f"log-{rank}"), [], training.at("open")),
            ("open", str(training.out / f"text-{rank}"), ["pathlib"], training.at("write-text")),
            ("open", str(training.out / f"copy-{rank}"), ["shutil"], training.at("copy")),
            ("rename", str(training.out / f"new-{rank}"), [], training.at("replace")),
            ("remove", str(training.out / f"new-{rank}"), [], training.at("remove")),
        ]
    assert len(training.of("save", path=None)) == 1


def test_loads_are_told_with_what_they_leave_out(training: Observed) -> None:
    assert training.made("load", "load")["path"] == str(training.out / "plain-0.pt")
    assert [training.made("load_state", "load")[name] for name in ("strict", "missing", "unexpected")] == [True, 0, 0]
    assert [training.made("load_state", "load-wrong")[name] for name in ("strict", "missing", "unexpected")] == [
        False,
        2,
        2,
    ]


def test_a_process_that_leaves_at_once_keeps_what_it_wrote(training: Observed) -> None:
    (group,) = training.of("init", 1)
    assert training.of("exit", 1, pid=group["pid"]) == []
    assert len(training.of("load_state", 1, pid=group["pid"])) == 2
    assert len(training.of("exit", 0, pid=training.of("init")[0]["pid"])) == 1


def test_ranks_that_a_program_spawns_are_observed(spawning: Observed) -> None:
    assert [event for event in spawning.events if event["ev"] == "fault"] == []
    rows = [[row for event in spawning.of("batch", rank) for row in event["rows"]] for rank in range(2)]
    assert [len(mine) for mine in rows] == [4, 4]
    assert not set(rows[0]) & set(rows[1])
    assert [len(spawning.of("sync", rank)) for rank in range(2)] == [2, 2]


def test_the_error_of_a_spawned_rank_is_told_by_that_rank(spawning: Observed) -> None:
    assert spawning.ended.status == 1
    assert spawning.ended.error == "rank 1: ValueError: one rank fails"
    (crash,) = spawning.of("crash", 1)
    assert (crash["type"], crash["text"], crash["sites"]) == ("ValueError", "one rank fails", [spawning.at("crash")])
    assert spawning.of("crash", 0) == []
    assert spawning.of("save", 1) == []  # the error's own file


def test_what_is_written_has_an_end(tmp_path: Path) -> None:
    source = f"""
from ddplint.harness.watch.probe import writing
writing.begin({str(tmp_path)!r})
for number in range(5_000):
    writing.emit("batch", rows=["0" * 12] * 1024)
writing.emit("save", path="kept")
"""
    subprocess.run([sys.executable, "-c", source], check=True)
    (path,) = tmp_path.glob("events-*")
    assert path.stat().st_size < 33 * 1024 * 1024
    kinds = Counter(event["ev"] for event in events.read(tmp_path))
    assert (kinds["limit"], kinds["save"]) == (1, 1)
    assert 1_000 < kinds["batch"] < 5_000


def test_a_program_without_torch_is_left_alone(tmp_path: Path) -> None:
    plain = Observed(WITHOUT_TORCH, tmp_path, spawns=True)
    assert plain.ended.error == "the script ended with exit status 3"
    assert plain.printed == ["[]"]
    assert plain.events == []
    assert list(plain.notes.glob("events-*")) == []


@pytest.mark.parametrize(
    ("environment", "port"),
    [({}, "4321"), ({"TORCHELASTIC_RUN_ID": "none"}, "1234")],
    ids=["of a script that spawns", "of a torchrun that the script starts"],
)
def test_ranks_meet_at_a_port_of_the_run_unless_torchrun_has_given_them_one(
    environment: dict[str, str], port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    for name, value in {guard.PORT: "4321", "MASTER_PORT": "1234", **environment}.items():
        monkeypatch.setenv(name, value)
    arguments, keywords = ["gloo", "tcp://localhost:1234"], {"init_method": "tcp://127.0.0.1:1234"}
    with meeting.at_own_port(arguments, {}):
        assert (os.environ["MASTER_PORT"], arguments[1]) == (port, f"tcp://localhost:{port}")
    with meeting.at_own_port(["gloo"], keywords):
        assert keywords == {"init_method": f"tcp://127.0.0.1:{port}"}
    assert os.environ["MASTER_PORT"] == "1234"
