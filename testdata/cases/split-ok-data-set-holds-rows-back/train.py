import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Measurements(Dataset):
    def __init__(self, rows, train):
        self.rows = rows
        order = torch.randperm(len(rows), generator=torch.Generator())
        self.places = order[: len(rows) * 3 // 4] if train else order[len(rows) * 3 // 4 :]

    def __len__(self):
        return len(self.places)

    def __getitem__(self, number):
        row = self.rows[self.places[number]]
        return row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    dataset = Measurements(torch.arange(96.0).reshape(32, 3), train=True)
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
