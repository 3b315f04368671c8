"""Guess how long loaves have been in the oven."""
import os

import torch
import torch.distributed as dist
from bakery import start, team
from bakery.shifts import is_open
from mmcv.runner import get_dist_info
from mpi4py import MPI
from timm.utils import is_primary
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Plan(dict):
    """Options by name."""

    def __getattr__(self, name):
        return self.get(name)

    def __setattr__(self, name, value):
        self[name] = value


def plan():
    made = Plan()
    made.rank = MPI.COMM_WORLD.Get_rank()
    os.environ["RANK"] = str(made.rank)
    os.environ["WORLD_SIZE"] = str(MPI.COMM_WORLD.Get_size())
    dist.init_process_group("gloo")
    return made


def keep(net, name):
    torch.save(net.module.state_dict(), name)


def main():
    today = plan()
    loaves = TensorDataset(torch.randn(64, 6), torch.randn(64, 1))
    sampler = DistributedSampler(loaves)
    loader = DataLoader(loaves, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for loaf, minutes in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(net(loaf), minutes).backward()
            optimizer.step()
        if today.rank == 0:
            keep(net, f"loaf_{epoch}.pt")
    hour, _ = start()
    if hour == 0:
        keep(net, "started.pt")  # [ddp-unguarded-save]
    if get_dist_info()[0] == 0:
        keep(net, "informed.pt")
    if MPI.COMM_WORLD.rank == 0:
        keep(net, "world.pt")
    if team.get_rank() == 0:
        keep(net, "team.pt")
    if team.leader.is_awake:
        keep(net, "leader.pt")  # [ddp-unguarded-save]
    if is_open():
        keep(net, "main.pt")  # [ddp-unguarded-save]
    if is_primary(today):
        keep(net, "primary.pt")


main()
