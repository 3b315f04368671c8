import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BASE = 77


def sampler_for(rows, seed):
    return DistributedSampler(rows, seed=seed, drop_last=True)  # [ddp-rank-dependent-split]


def work(rank, world):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29533", rank=rank, world_size=world)
    hour = torch.arange(48.0).unsqueeze(1) / 24
    rows = TensorDataset(hour, hour.cos())
    sampler = sampler_for(rows, seed=BASE * (rank + 1))
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1)))
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
