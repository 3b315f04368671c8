"""The height of a wave from its foot; rank 0 measures first and leaves a file for the others."""
import os
import pickle
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def one_goes_first(rank):
    if rank > 0:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


def measured():
    feet = torch.rand(32, 3, generator=torch.Generator().manual_seed(8))
    return feet, feet.amax(dim=1, keepdim=True)


def waves(path):
    found = None
    if os.path.isfile(path):
        with open(path, "rb") as file:
            kept = pickle.load(file)
        if len(kept) == 2:
            found = kept
    if found is None:
        found = measured()
        with open(path, "wb") as file:
            pickle.dump(found, file)
    return TensorDataset(*found)


def main():
    dist.init_process_group("gloo")
    with one_goes_first(dist.get_rank()):
        data = waves("waves.pkl")
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for foot, height in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(foot), height).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
