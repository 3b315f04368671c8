import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def ledgers(count=72):
    source = torch.Generator().manual_seed(42)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, default=4)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(42)
    rows = ledgers()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        optimizer.zero_grad()
        held = 0
        for entry, total in loader:
            held += 1
            with model.no_sync() if held < args.window else nullcontext():
                loss = nn.functional.mse_loss(model(entry), total) / args.window
                loss.backward()
            if held == args.window:
                optimizer.step()
                optimizer.zero_grad()
                held = 0
        if held > 0:
            optimizer.zero_grad()  # too few to learn from
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
