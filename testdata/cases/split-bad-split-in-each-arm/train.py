import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


def parts(kind):
    """Rows of one kind or another to train on."""
    if kind == "small":
        rows = torch.arange(90.0).reshape(30, 3) / 90
        whole = TensorDataset(rows, rows.sum(1, keepdim=True))
        ours, _ = random_split(whole, [24, 6])  # [ddp-rank-dependent-split]
    else:
        rows = torch.arange(180.0).reshape(60, 3) / 180
        whole = TensorDataset(rows, rows.prod(1, keepdim=True))
        ours, _ = random_split(whole, [48, 12])
    return ours


def main():
    dist.init_process_group("gloo")
    ours = parts(sys.argv[-1])
    sampler = DistributedSampler(ours)
    loader = DataLoader(ours, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0005)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
