"""One demand model trained on several power-grid regions at once."""
import socket
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass
class Plan:
    regions: list = field(default_factory=lambda: ["coast", "hills", "plain"])
    epochs: int = 2
    batch: int = 4
    lr: float = 0.01


def region_data(index, rows=40):
    gen = torch.Generator().manual_seed(50 + index)
    weather = torch.randn(rows, 5, generator=gen)
    return TensorDataset(weather, weather.sum(1, keepdim=True) * (index + 1))


class Demand(nn.Module):
    def __init__(self, regions):
        super().__init__()
        self.place = nn.Embedding(regions, 5)
        self.body = nn.Sequential(nn.Linear(5, 10), nn.SiLU(), nn.Linear(10, 1))

    def forward(self, weather, region):
        code = self.place(torch.full((len(weather),), region, device=weather.device))
        return self.body(weather + code)


def region_loss(model, batch, region, device):
    weather, demand = (t.to(device) for t in batch)
    return nn.functional.smooth_l1_loss(model(weather, region), demand)


def worker(rank, world, port, plan):
    cuda = torch.cuda.is_available()
    dist.init_process_group(
        "nccl" if cuda else "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world
    )
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    torch.manual_seed(0)
    model = DistributedDataParallel(Demand(len(plan.regions)).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=plan.lr)

    samplers, loaders = [], []
    for i in range(len(plan.regions)):
        rows = region_data(i)
        samplers.append(DistributedSampler(rows, num_replicas=world, rank=rank))
        loaders.append(DataLoader(rows, batch_size=plan.batch, sampler=samplers[-1]))

    for epoch in range(plan.epochs):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        for batches in zip(*loaders):
            optimizer.zero_grad()
            loss = sum(region_loss(model, batch, region, device) for region, batch in enumerate(batches))
            loss.backward()
            optimizer.step()
        if rank == 0:
            print("epoch", epoch, "last loss", round(loss.item(), 4))
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    world = torch.cuda.device_count() if torch.cuda.is_available() else 2
    mp.spawn(worker, args=(world, free_port(), Plan()), nprocs=world)
