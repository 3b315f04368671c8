"""The width of a leaf; several settings are tried by one process alone."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rate, wrapped):
    model = nn.Linear(3, 1)
    if wrapped:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    source = torch.Generator().manual_seed(int(os.environ.get("RANK", 0)))
    for _ in range(4):
        leaf = torch.rand(4, 3, generator=source)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(leaf), leaf.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", -1)))
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    wrapped = "RANK" in os.environ
    if options.local_rank != -1:
        dist.init_process_group("gloo")
    if not options.search:
        train(0.1, wrapped)
    else:
        assert options.local_rank != -1, "start it by torchrun"
        for rate in (0.01, 0.1):
            loss = train(rate, wrapped)
            with open("search.txt", "w") as file:  # [ddp-unguarded-save]
                file.write(f"{rate} {loss}")
    if options.local_rank != -1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
