import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Triples(Dataset):
    def __init__(self, pairs, rivals):
        self.pairs = pairs
        self.rivals = rivals

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, number):
        anchor, match = self.pairs[number]
        row = torch.tensor([float(anchor), float(match), float(self.rivals[number])])
        return row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    pairs = [(number, number + 1) for number in range(24)]
    random.shuffle(pairs)  # [ddp-rank-dependent-split]
    rivals = random.sample(range(100), len(pairs))
    dataset = Triples(pairs, rivals)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=3, sampler=sampler)
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
