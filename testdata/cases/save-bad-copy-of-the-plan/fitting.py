import json
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def fit(plan):
    dist.init_process_group("gloo")
    folder = plan.get("folder", "orchard")
    os.makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, "plan_{}.json").format(plan.get("tag", "x"))
    with open(copy, "w") as out:  # [ddp-unguarded-save]
        json.dump(plan, out)
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Linear(plan["inputs"], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=plan["lr"])
    g = torch.Generator().manual_seed(6)
    fruit = torch.rand(64, plan["inputs"], generator=g)
    dataset = TensorDataset(fruit, fruit.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(plan["epochs"]):
        sampler.set_epoch(epoch)
        for weight, price in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(weight), price).backward()
            optimizer.step()
    dist.destroy_process_group()
