"""The volume of a pebble from its sides."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from settings import Settings


def pebbles(count=32):
    source = torch.Generator().manual_seed(5)
    sides = torch.rand(count, 3, generator=source)
    return TensorDataset(sides, sides.prod(dim=1, keepdim=True))


def main(settings):
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = pebbles()
    sampler = None
    if settings.distributed:
        model = DistributedDataParallel(model)
        sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler, shuffle=sampler is None)
    for epoch in range(2):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for sides, volume in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(sides), volume).backward()
            optimizer.step()
    torch.save(model.state_dict(), "pebbles.pt")  # [ddp-unguarded-save,ddp-wrapper-state-dict]
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Settings("settings.json"))
