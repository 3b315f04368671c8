"""What the messages say to write: it can be written as it stands, and then the message is gone and no other comes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from ddplint.analysis import Analysis
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from pathlib import Path

SAMPLER, EPOCH, STATE, SAVE, MOVE, SYNC, *_ = BY_SYMBOL
SPLIT, RACE = "ddp-rank-dependent-split", "ddp-load-before-barrier"
DRIFT, PAST = "ddp-unsynchronized-step", "ddp-bypassed-wrapper"


@dataclass(frozen=True)
class Cure:
    """A program, what its one message says to write, and the edit that does as it says."""

    symbol: str
    said: str
    program: str
    old: str
    new: str


SETUP = "dist.init_process_group('nccl')\ndevice = int(os.environ['LOCAL_RANK'])\n"
HEAD = """\
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

"""
DATA = "dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))\n"
SHARED = DATA + (
    "sampler = DistributedSampler(dataset, shuffle=False)\n"
    "loader = DataLoader(dataset, batch_size=4, sampler=sampler)\n"
)
MODEL = "net = DDP(nn.Linear(8, 1).to(device), device_ids=[device])\n"
TRAIN = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(inputs.to(device)), targets.to(device)).backward()
        optimizer.step()
"""
TWICE = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    for inputs, targets in loader:
        optimizer.zero_grad()
        given = net(inputs.to(device))
        first, second = nn.functional.mse_loss(given, targets.to(device)), given.square().mean()
        first.backward(retain_graph=True)
        second.backward()
        optimizer.step()
"""
PERHAPS = """\
device = int(os.environ.get('LOCAL_RANK', 0))
net = nn.Linear(8, 1).to(device)
if 'RANK' in os.environ:
    dist.init_process_group('nccl')
    net = DDP(net, device_ids=[device])
"""
SHARED_PERHAPS = DATA + (
    "sampler = DistributedSampler(dataset, shuffle=False) if dist.is_initialized() else None\n"
    "loader = DataLoader(dataset, batch_size=4, sampler=sampler)\n"
)
ACCUMULATE = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step, (inputs, targets) in enumerate(loader):
    nn.functional.mse_loss(net(inputs.to(device)), targets.to(device)).backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
PAIR = "    nn.functional.mse_loss(net(inputs.to(device)), targets.to(device)).backward()\n"
LATE = """\
    loss = nn.functional.mse_loss(net(inputs.to(device)), targets.to(device))
    with contextlib.nullcontext() if (step + 1) % 4 == 0 else net.no_sync():
        loss.backward()
"""


def _under_no_sync(statement: str) -> str:
    return f"    last = (step + 1) % 4 == 0\n    {statement}\n    {PAIR}"


def _in_main(program: str) -> str:
    return "".join(f"    {line}\n" for line in program.splitlines())


CURES = {
    "sampler": Cure(
        SAMPLER,
        "Pass sampler=DistributedSampler(dataset) in place of shuffle, and call set_epoch(epoch) on it in each epoch",
        HEAD + SETUP + DATA + MODEL + "loader = DataLoader(dataset, batch_size=4, shuffle=True)\n" + TRAIN,
        "loader = DataLoader(dataset, batch_size=4, shuffle=True)\n" + TRAIN,
        "sampler = DistributedSampler(dataset)\nloader = DataLoader(dataset, batch_size=4, sampler=sampler)\n"
        + TRAIN.replace("(5):\n", "(5):\n    sampler.set_epoch(epoch)\n"),
    ),
    "sampler that may be out of place": Cure(
        SAMPLER,
        "sampler=DistributedSampler(dataset) if dist.is_initialized() else None with shuffle=not dist.is_initialized()",
        HEAD + PERHAPS + DATA + "loader = DataLoader(dataset, batch_size=4, shuffle=True)\n" + TRAIN,
        "loader = DataLoader(dataset, batch_size=4, shuffle=True)\n" + TRAIN,
        "sampler = DistributedSampler(dataset) if dist.is_initialized() else None\n"
        "loader = DataLoader(dataset, batch_size=4, sampler=sampler, shuffle=not dist.is_initialized())\n"
        + TRAIN.replace("(5):\n", "(5):\n    if sampler is not None:\n        sampler.set_epoch(epoch)\n"),
    ),
    "loader before the group": Cure(
        SAMPLER,
        "DistributedSampler(dataset, shuffle=False) in place of shuffle, "
        "make the loader behind dist.init_process_group",
        HEAD + DATA + "loader = DataLoader(dataset, batch_size=4, shuffle=False)\n" + SETUP + MODEL + TRAIN,
        "loader = DataLoader(dataset, batch_size=4, shuffle=False)\n" + SETUP,
        SETUP + "sampler = DistributedSampler(dataset, shuffle=False)\n"
        "loader = DataLoader(dataset, batch_size=4, sampler=sampler)\n",
    ),
    "sampler of the project": Cure(
        SAMPLER,
        "Let Shuffled give every dist.get_world_size()-th of its indices from number dist.get_rank() on",
        HEAD
        + "class Shuffled(torch.utils.data.Sampler):\n    def __init__(self, source):\n        self.source = source\n\n"
        + "    def __iter__(self):\n        generator = torch.Generator().manual_seed(0)\n"
        + "        order = torch.randperm(len(self.source), generator=generator).tolist()\n"
        + "        return iter(order)\n\n    def __len__(self):\n        return len(self.source)\n\n\n"
        + SETUP
        + DATA
        + MODEL
        + "loader = DataLoader(dataset, batch_size=4, sampler=Shuffled(dataset))\n"
        + TRAIN,
        "return iter(order)",
        "return iter(order[dist.get_rank() :: dist.get_world_size()])",
    ),
    "samples of a stream": Cure(
        SAMPLER,
        "Let the __iter__ of its dataset give every dist.get_world_size()-th of the samples from number",
        HEAD
        + "class Stream(torch.utils.data.IterableDataset):\n"
        + "    def __iter__(self):\n        yield from self.samples()\n\n"
        + "    def samples(self):\n        for number in range(64):\n"
        + "            yield torch.full((8,), number), torch.ones(1)\n\n\n"
        + SETUP
        + MODEL
        + "loader = DataLoader(Stream(), batch_size=4)\n"
        + TRAIN,
        "yield from self.samples()",
        "for number, sample in enumerate(self.samples()):\n"
        "            if number % dist.get_world_size() == dist.get_rank():\n                yield sample",
    ),
    "epoch counted by another name": Cure(
        EPOCH,
        "write 'shares.set_epoch(turn)' at the start of each round of the loop at line 16",
        HEAD + SETUP + DATA + "shares = DistributedSampler(dataset)\n"
        "loader = DataLoader(dataset, batch_size=4, sampler=shares)\n" + MODEL + TRAIN.replace("epoch", "turn"),
        "for turn in range(5):\n",
        "for turn in range(5):\n    shares.set_epoch(turn)\n",
    ),
    "epoch of a sampler without a name": Cure(
        EPOCH,
        "write 'self.batches.sampler.set_epoch(epoch)' at the start of each round",
        HEAD
        + "class Trainer:\n    def __init__(self, net, batches, device):\n"
        + "        self.net, self.batches, self.device = net, batches, device\n"
        + "        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n\n"
        + "    def once(self):\n        for inputs, targets in self.batches:\n            self.optimizer.zero_grad()\n"
        + "            nn.functional.mse_loss(self.net(inputs), targets).backward()\n"
        + "            self.optimizer.step()\n\n"
        + "    def fit(self):\n        for epoch in range(5):\n            self.once()\n\n\n"
        + SETUP
        + DATA
        + MODEL
        + "Trainer(net, DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset)), device).fit()\n",
        "range(5):\n",
        "range(5):\n            self.batches.sampler.set_epoch(epoch)\n",
    ),
    "epoch of a sampler that may be None": Cure(
        EPOCH,
        "write 'if sampler is not None: sampler.set_epoch(epoch)' at the start of each round",
        HEAD + PERHAPS + DATA + "sampler = DistributedSampler(dataset) if dist.is_initialized() else None\n"
        "loader = DataLoader(dataset, batch_size=4, sampler=sampler, shuffle=sampler is None)\n" + TRAIN,
        "range(5):\n",
        "range(5):\n    if sampler is not None: sampler.set_epoch(epoch)\n",
    ),
    "epoch of what a helper is given": Cure(
        EPOCH,
        "write 'if isinstance(batches.sampler, DistributedSampler): batches.sampler.set_epoch(epoch)' at the start",
        HEAD
        + "def build():\n    dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))\n"
        + "    if dist.is_initialized():\n"
        + "        return DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset))\n"
        + "    return DataLoader(dataset, batch_size=4, shuffle=True)\n\n\n"
        + "def once(net, optimizer, given):\n    bar = iter(given)\n    for inputs, targets in bar:\n"
        + "        optimizer.zero_grad()\n        nn.functional.mse_loss(net(inputs), targets).backward()\n"
        + "        optimizer.step()\n\n\n"
        + PERHAPS
        + "batches = build()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        + "for epoch in range(5):\n    once(net, optimizer, batches)\n",
        "range(5):\n",
        "range(5):\n    if isinstance(batches.sampler, DistributedSampler): batches.sampler.set_epoch(epoch)\n",
    ),
    "state of a wrapper": Cure(
        STATE,
        "Save net.module.state_dict()",
        HEAD
        + SETUP
        + SHARED
        + MODEL
        + TRAIN
        + "if dist.get_rank() == 0:\n    torch.save(net.state_dict(), 'net.pt')\n",
        "net.state_dict()",
        "net.module.state_dict()",
    ),
    "state of what may be wrapped": Cure(
        STATE,
        'Save getattr(net, "module", net).state_dict()',
        HEAD + PERHAPS + SHARED_PERHAPS + TRAIN + "if not dist.is_initialized() or dist.get_rank() == 0:\n"
        "    torch.save(net.state_dict(), 'net.pt')\n",
        "net.state_dict()",
        'getattr(net, "module", net).state_dict()',
    ),
    "state that is loaded into what may be wrapped": Cure(
        STATE,
        'getattr(net, "module", net).state_dict(), and load it into getattr(net, "module", net) at line 15',
        HEAD
        + PERHAPS.replace("'RANK' in os.environ", "len(os.sys.argv) > 1")
        + "if os.path.exists('net.pt'):\n    net.load_state_dict(torch.load('net.pt', map_location=device))\n"
        + SHARED_PERHAPS
        + TRAIN
        + "if not dist.is_initialized() or dist.get_rank() == 0:\n    torch.save(net.state_dict(), 'net.pt')\n",
        "net.load_state_dict(torch.load('net.pt', map_location=device))\n"
        + SHARED_PERHAPS
        + TRAIN
        + "if not dist.is_initialized() or dist.get_rank() == 0:\n    torch.save(net.state_dict(), 'net.pt')\n",
        "getattr(net, \"module\", net).load_state_dict(torch.load('net.pt', map_location=device))\n"
        + SHARED_PERHAPS
        + TRAIN
        + "if not dist.is_initialized() or dist.get_rank() == 0:\n"
        + "    torch.save(getattr(net, \"module\", net).state_dict(), 'net.pt')\n",
    ),
    "save": Cure(
        SAVE,
        "Put it under 'if dist.get_rank() == 0:'",
        HEAD + SETUP + SHARED + MODEL + TRAIN + "torch.save(net.module.state_dict(), 'net.pt')\n",
        "torch.save(",
        "if dist.get_rank() == 0:\n    torch.save(",
    ),
    "save without an import": Cure(
        SAVE,
        "Put it under 'if torch.distributed.get_rank() == 0:'",
        HEAD.replace("import torch.distributed as dist\n", "")
        + SETUP.replace("dist.", "torch.distributed.")
        + SHARED
        + MODEL
        + TRAIN
        + "torch.save(net.module.state_dict(), 'net.pt')\n",
        "torch.save(",
        "if torch.distributed.get_rank() == 0:\n    torch.save(",
    ),
    "save where there may be no group": Cure(
        SAVE,
        "Put it under 'if not dist.is_initialized() or dist.get_rank() == 0:'",
        HEAD + PERHAPS + SHARED_PERHAPS + TRAIN + "torch.save(getattr(net, 'module', net).state_dict(), 'net.pt')\n",
        "torch.save(",
        "if not dist.is_initialized() or dist.get_rank() == 0:\n    torch.save(",
    ),
    "save before the group": Cure(
        SAVE,
        'Put it under \'if os.environ.get("RANK", "0") == "0":\' (the process group is not there yet)',
        HEAD + "torch.save(torch.ones(1), 'first.pt')\n" + SETUP + SHARED + MODEL + TRAIN,
        "torch.save(",
        'if os.environ.get("RANK", "0") == "0":\n    torch.save(',
    ),
    "save in what every rank has to do": Cure(
        SAVE,
        "Put the write at line 20 under 'if dist.get_rank() == 0:', not this call: every rank has to make it",
        HEAD
        + "def work(device):\n"
        + _in_main(SHARED + MODEL + TRAIN)
        + "    torch.save(net.module.state_dict(), 'net.pt')\n\n\n"
        + SETUP
        + "if len(os.sys.argv) > 1 and dist.get_rank() == 0:\n    work(device)\nelse:\n    work(device)\n",
        "    torch.save(",
        "    if dist.get_rank() == 0:\n        torch.save(",
    ),
    "two saves in what every rank has to do": Cure(
        SAVE,
        "Put the writes at line 20 and line 21 under 'if dist.get_rank() == 0:', not this call: every rank has to make",
        HEAD
        + "def work(device):\n"
        + _in_main(SHARED + MODEL + TRAIN)
        + "    torch.save(net.module.state_dict(), 'net.pt')\n    torch.save(torch.ones(1), 'ones.pt')\n\n\n"
        + SETUP
        + "if len(os.sys.argv) > 1 and dist.get_rank() == 0:\n    work(device)\nelse:\n    work(device)\n",
        "    torch.save(net.module.state_dict(), 'net.pt')\n    torch.save(",
        "    if dist.get_rank() == 0:\n        torch.save(net.module.state_dict(), 'net.pt')\n        torch.save(",
    ),
    "file removed": Cure(
        SAVE,
        "For all but the first it is gone, and they raise FileNotFoundError. Put it under 'if dist.get_rank() == 0:'",
        HEAD + SETUP + SHARED + MODEL + TRAIN + "os.remove('old.pt')\n",
        "os.remove(",
        "if dist.get_rank() == 0:\n    os.remove(",
    ),
    "move": Cure(
        MOVE,
        "Do it before the wrap: DDP(net.cuda(device))",
        HEAD + SETUP + SHARED + "net = nn.Linear(8, 1)\nnet = DDP(net)\nnet.cuda(device)\n" + TRAIN,
        "DDP(net)",
        "DDP(net.cuda(device))",
    ),
    "cast": Cure(
        MOVE,
        "Do it before the wrap: DDP(net.double(), ...)",
        HEAD + SETUP + SHARED + "net = nn.Linear(8, 1).to(device)\n"
        "net = DDP(net, device_ids=[device])\nnet.double()\n" + TRAIN,
        "DDP(net,",
        "DDP(net.double(),",
    ),
    "accumulation": Cure(
        SYNC,
        "each micro-batch under 'with contextlib.nullcontext() if last else net.no_sync():', where last is true for",
        "import contextlib\n" + HEAD + SETUP + SHARED + MODEL + ACCUMULATE,
        PAIR,
        _under_no_sync("with contextlib.nullcontext() if last else net.no_sync():"),
    ),
    "accumulation whose no_sync comes too late": Cure(
        SYNC,
        "no_sync() misses the wrapper's forward at line 18, and the forward decides: every micro-batch",
        "import contextlib\n" + HEAD + SETUP + SHARED + MODEL + ACCUMULATE.replace(PAIR, LATE),
        LATE,
        _under_no_sync("with contextlib.nullcontext() if last else net.no_sync():"),
    ),
    "accumulation of what may be wrapped": Cure(
        SYNC,
        "'with nullcontext() if last or not hasattr(net, \"no_sync\") else net.no_sync():'",
        "from contextlib import nullcontext\n" + HEAD + PERHAPS + SHARED_PERHAPS + ACCUMULATE,
        PAIR,
        _under_no_sync('with nullcontext() if last or not hasattr(net, "no_sync") else net.no_sync():'),
    ),
    "split": Cure(
        SPLIT,
        "Pass 'generator=torch.Generator().manual_seed(0)'",
        HEAD + SETUP + DATA + "dataset, rest = torch.utils.data.random_split(dataset, [48, 16])\n"
        "loader = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, shuffle=False))\n"
        + MODEL
        + TRAIN,
        "[48, 16])",
        "[48, 16], generator=torch.Generator().manual_seed(0))",
    ),
    "second backward": Cure(
        DRIFT,
        "Back-propagate the sum of the losses once",
        HEAD + SETUP + SHARED + MODEL + TWICE,
        "first.backward(retain_graph=True)\n        second.backward()",
        "(first + second).backward()",
    ),
    "past the wrapper": Cure(
        PAST,
        "Call 'net(...)' instead",
        HEAD + SETUP + SHARED + MODEL + "inner = net.module\n" + TRAIN.replace("net(", "inner("),
        "inner(",
        "net(",
    ),
    "race": Cure(
        RACE,
        "Call dist.barrier() before it is read",
        HEAD + SETUP + SHARED + MODEL + TRAIN + "if dist.get_rank() == 0:\n"
        "    torch.save(net.module.state_dict(), 'net.pt')\nstate = torch.load('net.pt')\n",
        "state = ",
        "dist.barrier()\nstate = ",
    ),
}


def _messages(root: Path, program: str) -> list[tuple[str, str]]:
    ast.parse(program)
    (root / ".git").mkdir(exist_ok=True)
    file = root / "train.py"
    file.write_text(program)
    found = Analysis().findings(str(file), list(BY_SYMBOL))
    return [(each.symbol, BY_SYMBOL[each.symbol].message % each.details) for each in found]


@pytest.mark.parametrize("name", CURES)
def test_can_be_done_as_it_is_said(name: str, tmp_path: Path) -> None:
    cure = CURES[name]
    found = _messages(tmp_path, cure.program)
    assert [symbol for symbol, _ in found] == [cure.symbol]
    assert cure.said in found[0][1]
    assert cure.program.count(cure.old) == 1
    assert _messages(tmp_path, cure.program.replace(cure.old, cure.new)) == []
