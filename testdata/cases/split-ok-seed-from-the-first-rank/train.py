import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Sampler, TensorDataset


def common_seed():
    """A seed that the first rank draws."""
    if dist.get_rank() == 0:
        seed = torch.randint(1 << 30, (1,))
    else:
        seed = torch.zeros(1, dtype=torch.long)
    dist.broadcast(seed, src=0)
    return seed.item()


class Dealer(Sampler):
    def __init__(self, length):
        self.length = length
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.seed = common_seed()
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.length, generator=generator).tolist()
        return iter(order[self.rank :: self.ranks])

    def __len__(self):
        return self.length // self.ranks


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = Dealer(len(dataset))
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
