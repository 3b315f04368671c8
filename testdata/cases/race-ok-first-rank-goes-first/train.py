import contextlib
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


@contextlib.contextmanager
def in_turn(rank):
    if rank != 0:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    with in_turn(rank):
        if rank == 0:
            with open("words.json", "w") as out:
                json.dump(["a", "b", "c"], out)
        with open("words.json") as given:
            words = json.load(given)
    model = DDP(nn.Linear(len(words), 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, len(words))).sum().backward()
        optimizer.step()
    dist.barrier()
    if rank == 0:
        os.remove("words.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
