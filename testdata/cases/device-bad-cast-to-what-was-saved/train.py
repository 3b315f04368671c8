import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def firings(count=64):
    generator = torch.Generator().manual_seed(21)
    heat = torch.rand(count, 4, generator=generator)
    return TensorDataset(heat, heat.prod(dim=1))


def warm(kiln, path):
    """Start from the weights of an earlier firing."""
    saved = torch.load(path, map_location="cpu") if os.path.exists(path) else kiln.module.state_dict()
    kiln = kiln.bfloat16()
    print("rounded", next(kiln.parameters()).dtype)
    kiln = kiln.float()
    kiln.module.load_state_dict(saved)
    return kiln


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(1)
    kiln = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device))  # [ddp-wrap-before-move]
    kiln = warm(kiln, "kiln.pt")
    optimizer = torch.optim.SGD(kiln.parameters(), lr=0.05)
    data = firings()
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for heat, crack in DataLoader(data, batch_size=8, sampler=sampler):
            loss = (kiln(heat.to(device)).squeeze(1) - crack.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
