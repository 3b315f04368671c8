import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


def share_of_each(kinds, share):
    chosen = []
    for kind in sorted(set(kinds)):
        own = [place for place, other in enumerate(kinds) if other == kind]
        random.shuffle(own)  # [ddp-rank-dependent-split]
        chosen.extend(own[: int(len(own) * share)])
    return chosen


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(96.0).reshape(32, 3)
    kinds = [number % 4 for number in range(len(rows))]
    dataset = Subset(TensorDataset(rows, rows.sum(1, keepdim=True)), share_of_each(kinds, 0.75))
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
