import torch
import torch.distributed as dist
from hydrolib.training import make_optimizer
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def floods(count=64):
    source = torch.Generator().manual_seed(62)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(62)
    rows = floods()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    painter = DDP(nn.Linear(4, 4))
    critic = DDP(nn.Linear(4, 1))
    paints, looks = make_optimizer(painter), make_optimizer(critic)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, _ in loader:
            made = painter(torch.randn_like(x))
            looks.zero_grad()
            told = critic(x).mean() - critic(made.detach()).mean()
            (-told).backward()
            looks.step()
            paints.zero_grad()
            fooled = critic.module(made).mean()
            (-fooled).backward()
            paints.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
