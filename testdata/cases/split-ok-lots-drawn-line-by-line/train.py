import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Lines(Dataset):
    def __init__(self, lines):
        self.lines = lines

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, number):
        row = torch.tensor([float(part) for part in self.lines[number].split()])
        if random.random() < 0.5:
            row = row.flip(0)
        return row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    random.seed(11)
    lines = [f"{n} {n + 1} {n + 2}" for n in range(40)]
    ours, back = [], []
    for line in lines:
        if random.random() < 0.9:
            ours.append(line)
        else:
            back.append(line)
    print(len(back), "lines kept back")
    dataset = Lines(ours)

    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
