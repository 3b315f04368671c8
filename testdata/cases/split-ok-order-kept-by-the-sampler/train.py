import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Resumable(DistributedSampler):
    """Goes on where it was."""

    def __init__(self, dataset):
        super().__init__(dataset, drop_last=True)
        self.begin()

    def begin(self):
        self.at = 0
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.dataset), generator=generator)
        self.order = order.tolist()[self.rank : self.total_size : self.num_replicas]

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.order):
            self.begin()
            raise StopIteration
        self.at += 1
        return self.order[self.at - 1]


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = Resumable(dataset)
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
