import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def marshes(count=48):
    source = torch.Generator().manual_seed(97)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def run(rank, options):
    torch.manual_seed(97)
    rows = marshes()
    model = nn.Linear(3, 1)
    sampler = None
    if options.ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29517")
        dist.init_process_group("gloo", rank=rank, world_size=options.ranks)
        model = DistributedDataParallel(model)
        sampler = DistributedSampler(rows)
    if os.path.isfile("marsh.pt"):
        whole = model.module if options.ranks > 1 else model
        whole.load_state_dict(torch.load("marsh.pt")["net"])
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if rank == 0:
            whole = model.module if options.ranks > 1 else model
            torch.save({"net": whole.state_dict()}, "marsh.pt")
    if options.ranks > 1:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    if options.ranks > 1:
        mp.spawn(run, args=(options,), nprocs=options.ranks)
    else:
        run(0, options)


if __name__ == "__main__":
    main()
