"""The speed of a fall from its height; settings choose the arguments of what holds the data."""
import inspect
import json

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Falls:
    def __init__(self, size=4, limit=None, order=None):
        self.size = size if limit is None else min(size, limit)
        self.order = order
        height = torch.rand(48, 1, generator=torch.Generator().manual_seed(3))
        self.data = TensorDataset(height, (2 * 9.81 * height).sqrt())

    def loader(self):
        if self.order is None:
            return DataLoader(self.data, batch_size=self.size, shuffle=True)  # [ddp-missing-distributed-sampler]
        return DataLoader(self.data, batch_size=self.size, sampler=DistributedSampler(self.data))


def accepted(settings, target):
    known = inspect.signature(target).parameters
    return {name: value for name, value in settings.items() if name in known}


def main():
    dist.init_process_group("gloo")
    settings = json.loads('{"size": 4, "rate": 0.1}')
    loader = Falls(**accepted(settings, Falls)).loader()
    model = DistributedDataParallel(nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        for height, speed in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(height), speed).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
