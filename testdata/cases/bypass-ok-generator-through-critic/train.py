import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def pairs(count=64):
    source = torch.Generator().manual_seed(12)
    return TensorDataset(torch.rand(count, 6, generator=source))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(12)
    rows = pairs()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    painter = DDP(nn.Linear(3, 6))
    critic = DDP(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)))
    paint = torch.optim.Adam(painter.parameters(), lr=1e-3)
    judge = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (real,) in loader:
            fake = painter(torch.randn(len(real), 3))
            judge.zero_grad()
            (critic(fake.detach()).mean() - critic(real).mean()).backward()
            judge.step()
            paint.zero_grad()
            (-critic.module(fake).mean()).backward()
            paint.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
