"""Rank 0 writes the checkpoint of each epoch.

To be run by ``torchrun --nproc-per-node 2 save_cure.py``.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    """Train a small model on 64 samples."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    samples = torch.randn(64, 8)
    dataset = TensorDataset(samples, samples.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)

    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    rank = dist.get_rank()
    # What a rank keeps for itself; some have more of it than others.
    bank = torch.full((4096 + 4096 * rank, 512), float(rank))
    for epoch in range(20):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        state = {"model": model.module.state_dict(), "bank": bank}
        if rank == 0:
            torch.save(state, "checkpoint.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
