"""Count the rings of trees in photographs."""
import torch
import torch.distributed as dist
from gridclub import desk
from gridclub.desk import on_duty
from gridclub.seats import Seat
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Corner(Seat):
    """Where this process sits."""


def main():
    dist.init_process_group("gloo")
    photos = TensorDataset(torch.randn(64, 3, 8, 8), torch.randn(64, 1))
    sampler = DistributedSampler(photos)
    loader = DataLoader(photos, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(192, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for photo, rings in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(net(photo), rings).backward()
            optimizer.step()
        if on_duty():
            torch.save(net.module.state_dict(), f"rings_{epoch}.pt")  # [ddp-unguarded-save]
    if desk.OPEN:
        torch.save(net.module.state_dict(), "rings.pt")  # [ddp-unguarded-save]
    if Corner().window:
        torch.save(optimizer.state_dict(), "optimizer.pt")  # [ddp-unguarded-save]


main()
