"""The forward has decided to average the gradients before ``no_sync`` begins.

To be run by ``torchrun --nproc-per-node 2 accum_mistake_backward_only.py``.
"""

from contextlib import nullcontext

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
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)

    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (inputs, targets) in enumerate(loader, 1):
            last = number % 4 == 0
            loss = nn.functional.mse_loss(model(inputs), targets) / 4
            with nullcontext() if last else model.no_sync():  # [ddp-wasted-gradient-sync]
                loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
