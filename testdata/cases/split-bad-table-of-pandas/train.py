import pandas
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Prices(Dataset):
    def __init__(self, table):
        self.table = table.sample(frac=1.0).reset_index(drop=True)  # [ddp-rank-dependent-split]

    def __len__(self):
        return self.table.shape[0]

    def __getitem__(self, number):
        row = torch.tensor(self.table.iloc[number].to_list()[:3])
        return row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    dataset = Prices(pandas.read_csv("prices.csv"))
    print(dataset.table.sample(n=3))
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
