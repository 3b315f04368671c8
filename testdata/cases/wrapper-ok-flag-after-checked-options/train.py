"""How long a candle burns, from its wick and its wax."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="wide-2")
    parser.add_argument("--processes", type=int, default=int(os.environ.get("CANDLE_PROCESSES", 2)))
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    if args.shape.startswith("wide"):
        args.width = 24
    elif args.shape.startswith("slim"):
        args.width = 6
    else:
        raise ValueError(f"no shape {args.shape}")
    return args


def candles(count=64):
    g = torch.Generator().manual_seed(12)
    wick = torch.rand(count, 3, generator=g)
    return TensorDataset(wick, wick.prod(dim=1, keepdim=True))


def keep(net, args, epoch):
    if args.spread:
        net = net.module
    torch.save(net.state_dict(), f"candle-{epoch}.pt")


def main():
    args = parse()
    args.spread = args.processes > 1
    if args.spread:
        dist.init_process_group("gloo")
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(3, args.width), nn.ReLU(), nn.Linear(args.width, 1))
    if args.spread:
        net = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = candles()
    sampler = DistributedSampler(data) if args.spread else None
    loader = DataLoader(data, batch_size=8, sampler=sampler, shuffle=sampler is None)
    for epoch in range(args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for wick, hours in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(wick), hours).backward()
            optimizer.step()
        if not args.spread or dist.get_rank() == 0:
            keep(net, args, epoch)
    if args.spread:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
