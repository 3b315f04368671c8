import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Turns(Sampler):
    """The indices of one rank: every n-th of an order that is drawn anew in each epoch."""

    def __init__(self, length):
        self.length = length
        self.rank = dist.get_rank()
        self.ranks = dist.get_world_size()
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = torch.randperm(self.length).tolist()  # [ddp-rank-dependent-split]
        return iter(order[self.rank : self.length : self.ranks])

    def __len__(self):
        return self.length // self.ranks


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = Turns(len(dataset))
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
