import json
import os
from functools import singledispatch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@singledispatch
def fit(plan):
    raise TypeError("a plan is a file's name or a dictionary")


@fit.register
def _(plan: str):
    with open(plan) as file:
        fit(json.load(file))


@fit.register
def _(plan: dict):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(8)
    hives = TensorDataset(torch.rand(64, 5, generator=source), torch.rand(64, 1, generator=source))
    sampler = DistributedSampler(hives)
    loader = DataLoader(hives, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=plan["rate"])
    for epoch in range(plan["epochs"]):
        sampler.set_epoch(epoch)
        for weather, honey in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(weather.to(device)), honey.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch)
    dist.destroy_process_group()
