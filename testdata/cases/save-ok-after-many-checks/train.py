import argparse
import os
import shutil

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FOLDER = "echoes"


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=float, default=10)
    parser.add_argument("--depth", type=float, default=1)
    parser.add_argument("--heads", type=float, default=1)
    parser.add_argument("--blocks", type=float, default=1)
    parser.add_argument("--stride", type=float, default=1)
    parser.add_argument("--kernel", type=float, default=1)
    parser.add_argument("--pad", type=float, default=1)
    parser.add_argument("--groups", type=float, default=1)
    parser.add_argument("--warmup", type=float, default=1)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--batch", type=float, default=8)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--decay", type=float, default=1)
    parser.add_argument("--clip", type=float, default=1)
    parser.add_argument("--beta1", type=float, default=1)
    parser.add_argument("--beta2", type=float, default=1)
    parser.add_argument("--eps", type=float, default=1)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--floor", type=float, default=1)
    parser.add_argument("--ceiling", type=float, default=1)
    parser.add_argument("--window", type=float, default=1)
    parser.add_argument("--hop", type=float, default=1)
    parser.add_argument("--bins", type=float, default=1)
    return parser.parse_args()


def refuse_nonsense(options):
    if options.width < 0:
        raise SystemExit("--width is negative")
    if options.depth < 0:
        raise SystemExit("--depth is negative")
    if options.heads < 0:
        raise SystemExit("--heads is negative")
    if options.blocks < 0:
        raise SystemExit("--blocks is negative")
    if options.stride < 0:
        raise SystemExit("--stride is negative")
    if options.kernel < 0:
        raise SystemExit("--kernel is negative")
    if options.pad < 0:
        raise SystemExit("--pad is negative")
    if options.groups < 0:
        raise SystemExit("--groups is negative")
    if options.warmup < 0:
        raise SystemExit("--warmup is negative")
    if options.epochs < 0:
        raise SystemExit("--epochs is negative")
    if options.batch < 0:
        raise SystemExit("--batch is negative")
    if options.lr < 0:
        raise SystemExit("--lr is negative")
    if options.decay < 0:
        raise SystemExit("--decay is negative")
    if options.clip < 0:
        raise SystemExit("--clip is negative")
    if options.beta1 < 0:
        raise SystemExit("--beta1 is negative")
    if options.beta2 < 0:
        raise SystemExit("--beta2 is negative")
    if options.eps < 0:
        raise SystemExit("--eps is negative")
    if options.scale < 0:
        raise SystemExit("--scale is negative")
    if options.floor < 0:
        raise SystemExit("--floor is negative")
    if options.ceiling < 0:
        raise SystemExit("--ceiling is negative")
    if options.window < 0:
        raise SystemExit("--window is negative")
    if options.hop < 0:
        raise SystemExit("--hop is negative")
    if options.bins < 0:
        raise SystemExit("--bins is negative")


def keep(net, epoch, rank):
    if rank != 0:
        return
    name = os.path.join(FOLDER, f"net_{epoch}.pt")
    torch.save(net.state_dict(), name)
    shutil.copyfile(name, os.path.join(FOLDER, "net_last.pt"))


def main():
    options = read_options()
    refuse_nonsense(options)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    os.makedirs(FOLDER, exist_ok=True)
    torch.manual_seed(0)
    net = nn.Linear(int(options.width), 2)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
    g = torch.Generator().manual_seed(8)
    echo = torch.randn(64, int(options.width), generator=g)
    dataset = TensorDataset(echo, (echo[:, 0] > 0).long())
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=int(options.batch), sampler=sampler)
    for epoch in range(int(options.epochs)):
        sampler.set_epoch(epoch)
        for sound, label in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(sound), label).backward()
            optimizer.step()
        keep(net, epoch, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
