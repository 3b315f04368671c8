"""Guess the weight of a parcel."""
import os
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Route:
    rounds: int = 3
    rank: int = field(default=-1)
    size: int = field(default=-1)

    def __post_init__(self):
        size = int(os.environ.get("WORLD_SIZE", -1))
        if self.size == -1 and size != -1:
            self.size = size


class Carrier:
    def __init__(self, net, route):
        self.route = route
        self.rank = route.rank
        self.together = route.size > 1
        if self.together:
            dist.init_process_group("gloo")
            net = DistributedDataParallel(net)
        self.net = net

    @property
    def is_main(self):
        return self.rank == 0 or self.rank == -1

    def carry(self, parcels):
        sampler = DistributedSampler(parcels) if self.together else None
        loader = DataLoader(parcels, batch_size=8, sampler=sampler, shuffle=sampler is None)
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        for epoch in range(self.route.rounds):
            if sampler is not None:
                sampler.set_epoch(epoch)
            for parcel, weight in loader:
                optimizer.zero_grad()
                nn.functional.l1_loss(self.net(parcel), weight).backward()
                optimizer.step()
        if self.is_main:
            net = self.net.module if self.together else self.net
            torch.save(net.state_dict(), "parcel.pt")  # [ddp-unguarded-save]


Carrier(nn.Linear(6, 1), Route()).carry(TensorDataset(torch.randn(64, 6), torch.randn(64, 1)))
