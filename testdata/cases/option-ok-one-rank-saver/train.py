"""Predict the yield of a field from its soil."""
import torch
import torch.distributed as dist
from gridclub import in_turn
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from store import Store


def main():
    dist.init_process_group("gloo")
    fields = TensorDataset(torch.randn(64, 7), torch.randn(64, 1))
    sampler = DistributedSampler(fields)
    loader = DataLoader(fields, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(7, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for soil, grain in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(soil), grain).backward()
            optimizer.step()
        Store().put(net.module.state_dict(), f"grain_{epoch}.pt")

    def write():
        torch.save(net.module.state_dict(), "grain.pt")

    in_turn(write)


main()
