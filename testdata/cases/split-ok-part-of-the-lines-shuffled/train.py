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
        return row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    lines = [f"{n} {n + 1} {n + 2}" for n in range(40)]
    count = len(lines) // 5
    back = lines[:count]
    kept = lines[count:]
    random.shuffle(back)
    print(len(back), "lines kept back")
    ours = Lines(kept)
    sampler = DistributedSampler(ours)
    loader = DataLoader(ours, batch_size=4, sampler=sampler)
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
