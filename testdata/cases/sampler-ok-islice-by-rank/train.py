import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    heights = torch.rand(48, 5)
    tides = TensorDataset(heights, heights.sum(1, keepdim=True))
    loader = DataLoader(tides, batch_size=4)
    model = DistributedDataParallel(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for seen, wanted in itertools.islice(loader, rank, None, world):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(seen), wanted).backward()
            optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "tides.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
