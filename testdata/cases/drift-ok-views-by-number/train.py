from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def lenses(count=64):
    source = torch.Generator().manual_seed(112)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def views(x):
    pair = torch.stack([x, x.flip(1)])
    return pair.unbind()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(112)
    rows = lenses()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            for turn, view in enumerate(views(x)):
                with model.no_sync() if turn != 1 else nullcontext():
                    nn.functional.mse_loss(model(view), y).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
