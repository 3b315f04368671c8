"""The averaging of gradients is turned on after the forward that it was meant for.

To be run by ``torchrun --nproc-per-node 2 drift_mistake_late_flag.py``.
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
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)

    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (inputs, targets) in enumerate(loader):
            last = (number + 1) % 4 == 0
            loss = nn.functional.mse_loss(model(inputs), targets) / 4
            model.require_backward_grad_sync = last  # [ddp-unsynchronized-step]
            loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
