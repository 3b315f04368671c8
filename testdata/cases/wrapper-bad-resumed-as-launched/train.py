import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

LAST = "ferry/last.pt"


def crossings(count=80):
    generator = torch.Generator().manual_seed(11)
    wind = torch.randn(count, 5, generator=generator)
    return TensorDataset(wind, wind.norm(dim=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    rank = 0
    if args.distributed:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(4)
    data = crossings()
    ferry = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1)).to(device)
    sampler = None
    if args.distributed:
        ferry = nn.parallel.DistributedDataParallel(ferry)
        sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=10, sampler=sampler, shuffle=sampler is None)
    optimizer = torch.optim.SGD(ferry.parameters(), lr=0.01)
    first = 0
    if os.path.exists(LAST):
        found = torch.load(LAST, map_location=device)
        ferry.load_state_dict(found["ferry"])
        first = found["epoch"]
    for epoch in range(first, args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for wind, minutes in loader:
            loss = (ferry(wind.to(device)).squeeze(1) - minutes.to(device)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if rank == 0:
        os.makedirs("ferry", exist_ok=True)
        torch.save({"ferry": ferry.state_dict(), "epoch": args.epochs}, LAST)  # [ddp-wrapper-state-dict]
    if args.distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
