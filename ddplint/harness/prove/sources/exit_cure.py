"""All ranks stop when the loss of all is small.

To be run by ``torchrun --nproc-per-node 2 exit_cure.py``.
"""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    """Train a small model on 64 samples."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=3))
    torch.manual_seed(0)
    samples = torch.randn(64, 8)
    dataset = TensorDataset(samples, samples.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)

    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    for epoch in range(20):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)  # the losses of this epoch's samples, and their number
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(inputs), len(inputs)])
        dist.all_reduce(total)
        if total[0] / total[1] < 0.65:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
