import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
parser = argparse.ArgumentParser()
parser.add_argument("--watch", default="epoch")
args = parser.parse_args()
started = time.monotonic()


def figures(epoch):
    group = optimizer.param_groups[0]
    return {
        "epoch": epoch,
        "left": 2 - epoch,
        "half": epoch / 2,
        "double": 2 * epoch,
        "square": epoch**2,
        "batches": len(loader),
        "samples": len(dataset),
        "ranks": dist.get_world_size(),
        "rate": group["lr"],
        "momentum": group["momentum"],
        "decay": group["weight_decay"],
        "steps": (epoch + 1) * len(loader),
        "power": 1.5**epoch,
        "minutes": (time.monotonic() - started) / 60,
    }


for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    if figures(epoch)[args.watch] > 100:
        break
dist.destroy_process_group()
