import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def shells(count=64):
    source = torch.Generator().manual_seed(52)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.prod(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(52)
    rows = shells()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    painter = DDP(nn.Linear(4, 4))
    close = DDP(nn.Linear(4, 1))
    far = DDP(nn.Linear(4, 1))
    paints = torch.optim.Adam(painter.parameters(), lr=0.01)
    looks = torch.optim.Adam(itertools.chain(close.parameters(), far.parameters()), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, _ in loader:
            made = painter(torch.randn_like(x))
            looks.zero_grad()
            told = close.module(x).mean() - close.module(made.detach()).mean()  # [ddp-bypassed-wrapper]
            told = told + far(x).mean() - far(made.detach()).mean()
            (-told).backward()
            looks.step()
            paints.zero_grad()
            fooled = close(made).mean() + far(made).mean()
            (-fooled).backward()
            paints.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
