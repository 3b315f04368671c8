"""Every rank draws a split of its own.

To be run by ``torchrun --nproc-per-node 2 split_mistake.py``.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


def main():
    """Train a small model on 64 samples."""
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    samples = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(samples, samples.sum(dim=1, keepdim=True))
    train, valid = random_split(dataset, [48, 16])  # [ddp-rank-dependent-split]
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=4, sampler=sampler)
    valid_loader = DataLoader(valid, batch_size=4, sampler=DistributedSampler(valid, shuffle=False))

    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    error = torch.zeros(1)
    with torch.no_grad():
        for inputs, targets in valid_loader:
            error += nn.functional.mse_loss(model(inputs), targets, reduction="sum")
    dist.all_reduce(error)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
