"""Guess the year of a coin."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

if __name__ == "__main__":
    distributed = False
    rounds = 10
    if distributed:
        dist.init_process_group("gloo")
        place = int(os.environ["LOCAL_RANK"])
    else:
        place = 0
    coins = TensorDataset(torch.randn(64, 6), torch.randn(64, 1))
    net = nn.Linear(6, 1)
    called = DistributedDataParallel(net) if distributed else net
    sampler = DistributedSampler(coins, shuffle=True) if distributed else None  # [ddp-missing-set-epoch]
    loader = DataLoader(coins, batch_size=8, sampler=sampler, shuffle=sampler is None)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(rounds):
        for coin, year in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(called(coin), year).backward()
            optimizer.step()
        if place == 0:
            torch.save(net.state_dict(), "coin.pt")
