import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Pages(Dataset):
    """Reads all pages at once, and two copies of each."""

    def __init__(self, names):
        self.names = names
        self.pages = []
        self.read()

    def read(self):
        count = len(self.names)
        for place in range(count):
            page = torch.full((3,), float(len(self.names[place])))
            for scale in (0.5, 1.0):
                self.pages.append(page * scale)

    def __len__(self):
        return len(self.pages)

    def __getitem__(self, place):
        return self.pages[place], self.pages[place][:1]


def main():
    dist.init_process_group("gloo")
    names = []
    for number in range(20):
        names.append("page" + "s" * number)
    random.shuffle(names)  # [ddp-rank-dependent-split]
    dataset = Pages(names[:16])
    sampler = DistributedSampler(dataset)
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
