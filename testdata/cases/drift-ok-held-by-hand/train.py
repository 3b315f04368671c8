from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def voles(count=64):
    source = torch.Generator().manual_seed(91)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(91)
    rows = voles()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    held = 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            with model.no_sync() if held < 3 else nullcontext():
                nn.functional.mse_loss(model(x), y).div(4).backward()
            held += 1
            if held >= 4:
                optimizer.step()
                optimizer.zero_grad()
                held = 0
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
