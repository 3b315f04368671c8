from operator import itemgetter

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, SubsetRandomSampler, TensorDataset


class Turns(Dataset):
    """What a sampler gives in one pass, to be looked up by number."""

    def __init__(self, sampler):
        self.sampler = sampler
        self.turns = None

    def __getitem__(self, number):
        if self.turns is None:
            self.turns = list(self.sampler)
        return self.turns[number]

    def __len__(self):
        return len(self.sampler)


class Dealt(DistributedSampler):
    """Deals out what another sampler gives."""

    def __init__(self, sampler):
        super().__init__(Turns(sampler), shuffle=False)
        self.sampler = sampler

    def __iter__(self):
        self.dataset = Turns(self.sampler)
        return iter(itemgetter(*super().__iter__())(self.dataset))


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(90.0).reshape(30, 3) / 90
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = Dealt(SubsetRandomSampler(range(24)))  # [ddp-rank-dependent-split]
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
