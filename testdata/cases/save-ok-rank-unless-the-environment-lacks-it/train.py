"""Guess how old a turtle is."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    try:
        args.place = int(os.environ["LOCAL_RANK"])
    except KeyError:
        args.place = 0
    return args


def main():
    args = options()
    net = nn.Linear(6, 1)
    if args.together:
        dist.init_process_group("gloo")
        net = DistributedDataParallel(net)
    turtles = TensorDataset(torch.randn(64, 6), torch.randn(64, 1))
    sampler = DistributedSampler(turtles) if args.together else None
    loader = DataLoader(turtles, batch_size=8, sampler=sampler, shuffle=sampler is None)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for turtle, age in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(net(turtle), age).backward()
            optimizer.step()
    if args.place == 0:
        torch.save(net.module.state_dict() if args.together else net.state_dict(), "turtle.pt")
    if args.together:
        dist.destroy_process_group()


main()
