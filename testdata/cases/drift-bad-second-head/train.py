import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def dunes(count=64):
    source = torch.Generator().manual_seed(64)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.bend = nn.Tanh()
        self.body = nn.Linear(5, 3)
        self.mean = nn.Linear(3, 1)

    def forward(self, x):
        spread = self.bend(self.body(x))
        mean = self.mean(spread)
        return mean, spread


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(64)
    rows = dunes()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(Heads())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            mean, spread = model(x)
            optimizer.zero_grad()
            nn.functional.mse_loss(mean, y).backward(retain_graph=True)
            spread.square().mean().backward()  # [ddp-unsynchronized-step]
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
