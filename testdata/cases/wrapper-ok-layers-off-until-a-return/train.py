"""The area of a field from its sides; the model may be wrapped, compiled or neither."""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def bare(model):
    while True:
        if hasattr(model, "module"):
            model = model.module
        elif hasattr(model, "_orig_mod"):
            model = model._orig_mod
        else:
            return model


def main():
    dist.init_process_group("gloo")
    sides = torch.rand(32, 2, generator=torch.Generator().manual_seed(6))
    data = TensorDataset(sides, sides.prod(dim=1, keepdim=True))
    model = nn.Linear(2, 1)
    if "--alone" not in sys.argv:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for side, area in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(side), area).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save(bare(model).state_dict(), "field.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
