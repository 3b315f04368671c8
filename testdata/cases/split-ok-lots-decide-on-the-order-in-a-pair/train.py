import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Pairs(Dataset):
    def __init__(self, count):
        self.pairs = []
        for number in range(count):
            if random.random() < 0.5:
                self.pairs.append((float(number), 1.0, 1.0))
            else:
                self.pairs.append((1.0, float(number), 0.0))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, number):
        first, second, answer = self.pairs[number]
        return torch.tensor([first, second, 1.0]), torch.tensor([answer])


def main():
    dist.init_process_group("gloo")
    dataset = Pairs(32)

    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0005)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
