"""Guess the age of a whale from its song."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import tables


def main():
    dist.init_process_group("gloo")
    songs = TensorDataset(torch.randn(64, 20), torch.randn(64, 1))
    sampler = DistributedSampler(songs)
    loader = DataLoader(songs, batch_size=8, sampler=sampler)
    net = nn.Linear(20, 1)
    net = tables.remember(DistributedDataParallel(net), net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for song, age in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(song), age).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        weights = tables.bare(net).state_dict()  # [ddp-wrapper-state-dict]
        torch.save(weights, "whale.pt")


main()
