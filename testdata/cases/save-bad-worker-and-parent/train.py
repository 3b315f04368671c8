import json
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def note(settings):
    with open("settings.json", "w") as out:
        json.dump(settings, out)


def worker(rank, world, settings):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29631"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    note(settings)  # [ddp-unguarded-save]
    x = torch.rand(40, 3)
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=settings["lr"])
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    chosen = {"lr": 0.1}
    note(chosen)
    mp.spawn(worker, args=(2, chosen), nprocs=2)
