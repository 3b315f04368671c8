import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def looms(count=64):
    source = torch.Generator().manual_seed(121)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


class Loom(nn.Module):
    def __init__(self):
        super().__init__()
        self.warp = nn.Linear(5, 3)
        self.weft = nn.Linear(3, 1)

    def forward(self, x):
        return self.weft(self.warp(x))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(121)
    rows = looms()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(Loom())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            threads = model.module.warp(x)  # [ddp-bypassed-wrapper]
            cloth = model.module.weft(threads)
            nn.functional.mse_loss(cloth, y).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
