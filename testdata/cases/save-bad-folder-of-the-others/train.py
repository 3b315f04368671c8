import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = "quarry"
    if rank == 0:
        folder = os.path.join(folder, "first")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(4)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(19)
    stone = torch.randn(64, 8, generator=g)
    dataset = TensorDataset(stone, stone.norm(dim=1, keepdim=True))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for shape, mass in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(shape), mass).backward()
            optimizer.step()
        torch.save(optimizer.state_dict(), os.path.join(folder, f"steps_{epoch}.pt"))  # [ddp-unguarded-save]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
