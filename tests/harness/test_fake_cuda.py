"""Scripts written for NCCL and CUDA run without a GPU, and behave as on one where the rules look."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from conftest import line_of, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

INSTALL = "import torch\nfrom ddplint.harness.watch.fake_cuda import install\ninstall(torch)\n"

# Each observation is a JSON value, or the first line of the error that came instead.
OBSERVE = """
import json, os, sys
seen = {}

def see(name, function):
    try:
        seen[name] = function()
    except Exception as error:
        seen[name] = f"{type(error).__name__}: {error}".splitlines()[0]
"""

RANKS = (
    INSTALL
    + OBSERVE
    + '''
import copy, io, threading, warnings
import torch.distributed as dist
from torch import cuda, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore", FutureWarning)
local = int(os.environ["LOCAL_RANK"])
see("available", lambda: [cuda.is_available(), torch.accelerator.is_available(), cuda.device_count()])
cuda.set_device(local)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
see("backend", lambda: [dist.get_backend(), dist.get_backend(dist.new_group([0, 1], backend="nccl"))])
see("collectives", lambda: dist.barrier(device_ids=[local]))

def devices(*tensors):
    return [str(tensor.device) for tensor in tensors]

one = torch.ones(2, device="cuda")
see("made", lambda: devices(one, one + 1, torch.randn_like(one), torch.tensor([1], device=one.device), one.cpu()))
see("numbers", lambda: [str(torch.device(1)), *devices(torch.ones(1).to(1), nn.Linear(1, 1).to(1).weight)])
see("flags", lambda: [one.is_cuda, one.is_cpu, one.get_device(), torch.ones(1).is_cuda])
see("the same", lambda: [one.cuda() is one, one.to("cuda") is one, one.to("cpu") is one])

def in_thread():
    told = []
    thread = threading.Thread(target=lambda: told.extend(devices(torch.ones(1, device="cuda"), torch.ones(1).cuda())))
    thread.start()
    thread.join()
    return told

def in_context():
    with torch.device("cuda"):
        attention = nn.MultiheadAttention(4, 2)
        made = devices(torch.ones(1), attention(*torch.ones(3, 1, 1, 4))[0])
        return [*made, str(torch.get_default_device())]

def by_default():
    torch.set_default_device("cuda")
    told = devices(torch.ones(1), nn.Linear(1, 1).weight)
    torch.set_default_device(None)
    return [*told, *devices(torch.ones(1))]

def loaded():
    stored = io.BytesIO()
    torch.save({"one": one, "weights": nn.Linear(1, 1).cuda().state_dict()}, stored)
    told = []
    for place in (f"cuda:{local}", {"cuda:0": f"cuda:{local}"}, "cpu", lambda storage, _: storage.cuda(local)):
        stored.seek(0)
        told += devices(torch.load(stored, map_location=place)["one"])
    return told

def streams():
    side, start, end = cuda.Stream(), cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    with cuda.stream(side):
        copied = torch.ones(1).pin_memory().cuda(non_blocking=True)
    copied.record_stream(cuda.current_stream())
    cuda.current_stream().wait_stream(side)
    end.record()
    cuda.synchronize()
    return [*devices(copied), start.elapsed_time(end) >= 0]

see("thread", in_thread)
see("context", in_context)
see("default", by_default)
see("loaded", loaded)
see("streams", streams)
see("copied", lambda: devices(copy.deepcopy(nn.Linear(1, 1).cuda()).weight))
see("generator", lambda: list(torch.rand(1, device="cuda", generator=torch.Generator("cuda").manual_seed(1)).shape))
see("graph", cuda.CUDAGraph)
see("annotations", lambda: bool(cuda.CUDAGraph | cuda.Stream | cuda.Event | cuda.StreamContext | None))
see("memory", lambda: [cuda.memory_allocated(), cuda.max_memory_reserved(), cuda.get_device_properties(0).major])
see("unmoved", lambda: DDP(nn.Linear(2, 2), device_ids=[local]))
see("unmoved under nccl", lambda: DDP(nn.Linear(2, 2)))

gloo = dist.new_group(backend="gloo")

def drift(model, forward=None, scaler=None):
    """How far apart the ranks' parameters are after three steps on different data."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    data = torch.Generator().manual_seed(local)
    for _ in range(3):
        optimizer.zero_grad()
        inputs = torch.randn(4, 2, generator=data).cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=scaler is not None):
            loss = (forward or model)(inputs).square().mean()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    parameter = next(model.parameters()).detach().clone()
    others = [torch.zeros_like(parameter) for _ in range(2)]
    dist.all_gather(others, parameter)
    return "apart" if (others[0] - others[1]).abs().max() > 1e-3 else "equal"

class Recomputed(nn.Linear):
    def forward(self, inputs):
        return checkpoint(lambda given: super(Recomputed, self).forward(given) + torch.ones(2, device="cuda"),
                          inputs, use_reentrant=False)

def wrapped(model):
    return DDP(model.to(local), device_ids=[local], output_device=local)

def again(model):
    model.cuda(), model.to(local), model.module.to("cuda")
    return model

torch.manual_seed(0)
normalized = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
see("moved before", lambda: drift(wrapped(nn.Linear(2, 2))))
see("moved again", lambda: drift(again(wrapped(nn.Linear(2, 2)))))
see("moved after", lambda: drift(DDP(nn.Linear(2, 2), process_group=gloo).cuda()))
see("moved there and back", lambda: drift(wrapped(nn.Linear(2, 2)).cpu().cuda()))
see("cast after", lambda: drift(wrapped(nn.Linear(2, 2)).double().float()))
see("scaled", lambda: drift(wrapped(nn.Linear(2, 2)), scaler=torch.cuda.amp.GradScaler()))
see("recomputed", lambda: drift(wrapped(Recomputed(2, 2))))
see("normalized", lambda: drift(wrapped(nn.SyncBatchNorm.convert_sync_batchnorm(normalized))))
see("compiled", lambda: drift(wrapped(torch.compile(nn.Linear(2, 2)))))
see("compiled keys", lambda: list(torch.compile(nn.Linear(2, 2, bias=False)).state_dict()))

def data_moved(model):
    for parameter in model.parameters():
        parameter.data = parameter.data.cuda()
    return model

see("data moved after", lambda: drift(data_moved(DDP(nn.Linear(2, 2), process_group=gloo))))
dist.barrier()
with open(f"seen-{local}.json", "w") as file:
    json.dump(seen, file)
del gloo
os._exit(0)
'''
)

SEEN: dict[str, tuple[object, object]] = {
    "available": ([True, True, 2],) * 2,
    "backend": (["nccl", "nccl"],) * 2,
    "collectives": (None,) * 2,
    "made": (["cuda:0"] * 4 + ["cpu"], ["cuda:1"] * 4 + ["cpu"]),
    "numbers": (["cuda:1"] * 3,) * 2,
    "flags": ([True, False, 0, False], [True, False, 1, False]),
    "the same": ([True, True, False],) * 2,
    # A new thread's current GPU is the first.
    "thread": (["cuda:0"] * 2,) * 2,
    "context": (["cuda:0"] * 3, ["cuda:1"] * 3),
    "default": (["cuda:0"] * 2 + ["cpu"], ["cuda:1"] * 2 + ["cpu"]),
    "loaded": (["cuda:0"] * 2 + ["cpu"] * 2, ["cuda:1"] * 2 + ["cpu"] * 2),
    "streams": (["cuda:0", True], ["cuda:1", True]),
    "copied": (["cuda:0"], ["cuda:1"]),
    "generator": ([1],) * 2,
    "graph": ("RuntimeError: torch.cuda.CUDAGraph is not possible on fake CUDA",) * 2,
    "annotations": (True,) * 2,
    "memory": ([0, 0, 8],) * 2,
    "unmoved under nccl": ("RuntimeError: No backend type associated with device type cpu",) * 2,
    "moved before": ("equal",) * 2,
    "moved again": ("equal",) * 2,
    "moved after": ("apart",) * 2,
    "moved there and back": ("apart",) * 2,
    "data moved after": ("apart",) * 2,
    "cast after": ("apart",) * 2,
    "scaled": ("equal",) * 2,
    "recomputed": ("equal",) * 2,
    "normalized": ("equal",) * 2,
    "compiled": ("equal",) * 2,
    "compiled keys": (["_orig_mod.weight"],) * 2,
}

SPAWNS = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset):
    \"\"\"Looks, in a loader's worker, for what a program is told, and makes tensors as a program may.\"\"\"

    def __len__(self):
        return 8

    def __getitem__(self, number):
        assert torch.cuda.is_available()
        return torch.full((2,), float(number), device="cuda").cpu()


def be_rank(rank, world):
    assert world == torch.cuda.device_count()
    dist.init_process_group("cpu:gloo,cuda:nccl", init_method="tcp://localhost:29766", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    sampler = DistributedSampler(Rows(), shuffle=False)
    loader = DataLoader(Rows(), 2, sampler=sampler, num_workers=1, pin_memory=True)
    model = DDP(nn.Linear(2, 2).cuda())
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for rows in loader:
        optimizer.zero_grad()
        model(rows.cuda(non_blocking=True)).square().mean().backward()
        optimizer.step()
    torch.save(model.module.state_dict(), "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    open("parent.txt", "w").close()
    world = torch.cuda.device_count()
    print("GPUs:", world, flush=True)
    mp.spawn(be_rank, (world,), nprocs=world)
"""


@pytest.fixture(scope="module")
def seen_by_ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the two ranks of ``RANKS`` saw."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "script.py").write_text(RANKS, encoding="utf-8")
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    process = run([sys.executable, "-W", "error::UserWarning", *torchrun, "script.py"], folder, OMP_NUM_THREADS="1")
    assert process.returncode == 0, process.stderr
    return [json.loads((folder / f"seen-{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


@pytest.mark.parametrize("name", SEEN)
def test_a_rank_sees_what_it_would_on_a_gpu(seen_by_ranks: list[dict[str, Any]], name: str) -> None:
    assert tuple(seen[name] for seen in seen_by_ranks) == SEEN[name]


def test_device_ids_of_a_module_that_was_not_moved_are_refused(seen_by_ranks: list[dict[str, Any]]) -> None:
    for rank, seen in enumerate(seen_by_ranks):
        assert seen["unmoved"].startswith("ValueError: DistributedDataParallel device_ids"), seen["unmoved"]
        assert f"got device_ids [{rank}]" in seen["unmoved"]


def test_a_script_that_spawns_its_ranks_is_started_plainly_and_finds_a_gpu_for_each(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SPAWNS, encoding="utf-8")
    command = [sys.executable, "-m", "ddplint.harness", "watch", "--fake-cuda", "--json=-", "--", "train.py"]
    process = run(command, tmp_path, PYTHONWARNINGS="error::UserWarning")
    content = json.loads(process.stdout)
    assert (process.returncode, content["ended"]["error"], content["launch"]) == (1, None, "plain"), process.stderr
    assert "GPUs: 2" in process.stderr
    states = {one["rule"]: (one["state"], one["site"]) for one in content["verdicts"]}
    write = line_of("torch.save", SPAWNS)
    assert states.pop("ddp-unguarded-save") == ("found", f"{tmp_path}/train.py:{write}")
    assert states["ddp-wrap-before-move"][0] == "clean"
    assert states["ddp-rank-local-exit"][0] == "clean"
    assert "found" not in {state for state, _ in states.values()}
    assert any("ran on fake CUDA" in note for note in content["notes"])
