import importlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def settings():
    if len(sys.argv) > 1:
        with open(sys.argv[1], encoding="utf-8") as text:
            return json.load(text)
    return {"sampler": "torch.utils.data.distributed:DistributedSampler", "batch": 8}


def by_name(name):
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def main():
    config = settings()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(14)
    source = torch.Generator().manual_seed(14)
    shells = TensorDataset(torch.rand(64, 5, generator=source), torch.rand(64, 1, generator=source))
    sampler = RandomSampler(shells)
    loader = DataLoader(shells, config["batch"], sampler=sampler)  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for shell, age in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(shell.to(device)), age.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()
    return by_name(config["sampler"]).__name__


if __name__ == "__main__":
    main()
