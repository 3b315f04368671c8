import os
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Few(DistributedSampler):
    def __iter__(self):
        return iter(list(super().__iter__())[:5])


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    source = torch.Generator().manual_seed(3)
    x = torch.rand(60, 4, generator=source)
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = Few(rows)  # [ddp-missing-set-epoch]
    loader = DataLoader(rows, batch_size=5, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
    print(rank, world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
