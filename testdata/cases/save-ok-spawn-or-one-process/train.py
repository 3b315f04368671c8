import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FOLDER = "looms"


def weaves(count=64):
    g = torch.Generator().manual_seed(9)
    thread = torch.randn(count, 14, generator=g)
    return TensorDataset(thread, thread[:, :2].sum(dim=1, keepdim=True))


def store(state, name):
    torch.save(state, os.path.join(FOLDER, name))


def work(slot, slots, options):
    if options.many:
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29611", rank=slot, world_size=slots)
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(14, 6), nn.ReLU(), nn.Linear(6, 1))
    model, sampler, dataset = net, None, weaves()
    if options.many:
        model = DDP(net)
        sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, shuffle=sampler is None, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(options.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for thread, tension in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(thread), tension).backward()
            optimizer.step()
        if not options.many or slot == 0:
            store(net.state_dict(), f"loom_{epoch}.pt")
    if options.many:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    if options.many:
        mp.spawn(work, args=(options.slots, options), nprocs=options.slots)
    else:
        work(0, 1, options)


if __name__ == "__main__":
    main()
