import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Pairs(nn.Module):
    """Both views of a sample shall be nearer than those of others, on whatever rank they are."""

    def __init__(self, heat):
        super().__init__()
        self.heat = heat

    def forward(self, one, two):
        two = nn.functional.normalize(two, dim=1)
        with torch.no_grad():
            parts = [torch.empty_like(two) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, two)
        two_all = torch.cat(parts)
        near = one @ two_all.t() / self.heat
        first = dist.get_rank() * len(one)
        return nn.functional.cross_entropy(near, torch.arange(first, first + len(one)))


def main():
    dist.init_process_group("gloo")
    rows = TensorDataset(torch.rand(64, 6), torch.rand(64, 6))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler, drop_last=True)
    net = DDP(nn.Linear(6, 4))
    pairs = Pairs(0.5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for a, b in loader:
            both = net(torch.cat([a, b]))
            loss = pairs(both[: len(a)], both[len(a) :])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if int(os.environ["RANK"]) == 0:
            print(f"{loss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
