import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def bricks(count=64):
    source = torch.Generator().manual_seed(111)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


class Kiln(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 1)

    def heat(self, x, y):
        return nn.functional.mse_loss(self.body(x), y)

    def forward(self, x, y):
        return self.heat(x, y)


def bare(network):
    while isinstance(network, (DDP, nn.DataParallel)):
        network = network.module
    return network


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(111)
    rows = bricks()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(Kiln())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            model(x, y).backward()
            with torch.no_grad():
                bare(model).heat(x, y)
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
