import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def moorings(count=48):
    source = torch.Generator().manual_seed(18)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def window(size):
    if size == "tiny":
        return 1
    if size == "small":
        return 2
    if size == "middle":
        return 3
    if size == "large":
        return 4
    if size == "huge":
        return 6
    if size == "giant":
        return 8
    return 12


def first(start):
    if start == "cold":
        return -1
    if start == "cool":
        return -2
    if start == "mild":
        return -1
    if start == "warm":
        return -2
    if start == "hot":
        return -1
    return -2 if start == "boiling" else -1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="small")
    parser.add_argument("--start", default="cold")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(18)
    rows = moorings()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    every, last = window(options.size), first(options.start)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            now = number + len(loader) * epoch
            due = now - last >= every
            with contextlib.nullcontext() if due else model.no_sync():
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
                loss.backward()
            if due:
                optimizer.step()
                optimizer.zero_grad()
                last = now
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
