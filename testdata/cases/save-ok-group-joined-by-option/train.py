import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def start(jobs):
    if jobs > 1:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        mine = dist.get_rank()
    else:
        mine = 0
    device = torch.device("cuda", mine) if torch.cuda.is_available() else torch.device("cpu")
    return mine, device


def build(device):
    model = nn.Linear(4, 1).to(device)
    return DistributedDataParallel(model) if dist.is_initialized() else model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    mine, device = start(args.jobs)
    torch.manual_seed(5)
    model = build(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(8, 4, device=device)).square().mean().backward()
        optimizer.step()
    if mine == 0:
        plain = model.module if dist.is_initialized() else model
        torch.save(plain.state_dict(), "plain.pt")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
