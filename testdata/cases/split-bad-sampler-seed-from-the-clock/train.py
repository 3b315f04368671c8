import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def fresh_seed():
    """Another one in each run."""
    return int(time.time() * 1000) % 100_000


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3) / 72
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = DistributedSampler(dataset, seed=fresh_seed())  # [ddp-rank-dependent-split]
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
