import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, random_split


class Digits(Dataset):
    def __init__(self, count):
        self.rows = torch.randn(count, 3)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place], self.rows[place].sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    learn, test = random_split(Digits(32), [24, 8])  # [ddp-rank-dependent-split]
    print(len(test))
    sampler = DistributedSampler(learn)
    loader = DataLoader(learn, batch_size=3, sampler=sampler)
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
