"""Guess how sour an apple is."""
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def work(slot, slots, options):
    if options.many:
        options.rank = slot
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29613", rank=options.rank, world_size=slots)
    apples = TensorDataset(torch.randn(64, 6), torch.randn(64, 1))
    sampler = DistributedSampler(apples)
    loader = DataLoader(apples, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for apple, taste in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(net(apple), taste).backward()
            optimizer.step()
        if options.many or options.rank == 0:
            torch.save(net.module.state_dict(), f"apple_{epoch}.pt")  # [ddp-unguarded-save]
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--many", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    options = parser.parse_args()
    if options.many == 1:
        mp.spawn(work, args=(2, options), nprocs=2)
    else:
        work(options.rank, 2, options)


if __name__ == "__main__":
    main()
