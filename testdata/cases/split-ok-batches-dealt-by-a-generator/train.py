import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


class Groups:
    def __init__(self, length, size):
        self.length, self.size = length, size
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.epoch = 0

    def __iter__(self):
        order = list(range(self.length))
        random.Random(self.epoch).shuffle(order)
        groups = [order[at : at + self.size] for at in range(0, self.length, self.size)]
        self.epoch += 1
        yield from groups[self.rank :: self.ranks]

    def __len__(self):
        return self.length // self.size // self.ranks


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    loader = DataLoader(dataset, batch_sampler=Groups(len(dataset), 3))
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
