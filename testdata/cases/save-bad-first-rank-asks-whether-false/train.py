"""Sort mushrooms by the width of their caps."""
import os
import pickle
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@contextmanager
def first_ahead():
    yield
    dist.barrier()


def main():
    dist.init_process_group("gloo")
    with first_ahead():
        if os.path.exists("caps.pickle") is False:
            caps = torch.randn(64, 8)
            with open("caps.pickle", "wb") as file:  # [ddp-unguarded-save]
                pickle.dump(caps, file)
        else:
            with open("caps.pickle", "rb") as file:
                caps = pickle.load(file)
    caps = TensorDataset(caps, torch.randn(64, 1))
    sampler = DistributedSampler(caps)
    loader = DataLoader(caps, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for cap, width in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(cap), width).backward()
            optimizer.step()
    dist.destroy_process_group()


main()
