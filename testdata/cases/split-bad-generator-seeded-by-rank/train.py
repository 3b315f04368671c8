import os

import torch
import torch.distributed as dist
import torch.utils.data as tud
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def halves(everything, source):
    most = int(0.75 * len(everything))
    return tud.random_split(everything, [most, len(everything) - most], generator=source)  # [ddp-rank-dependent-split]


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    source = torch.Generator()
    source.manual_seed(rank)
    x = torch.stack([torch.arange(72.0).cos(), torch.arange(72.0).sin()], dim=1)
    train, held_out = halves(tud.TensorDataset(x, x.prod(1, keepdim=True)), source)
    loader = tud.DataLoader(train, 9, sampler=tud.DistributedSampler(train, shuffle=False))
    model = DistributedDataParallel(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for a, b in loader:
            optimizer.zero_grad()
            nn.functional.smooth_l1_loss(model(a), b).backward()
            optimizer.step()
    if rank == 0:
        print(len(held_out), "held out")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
