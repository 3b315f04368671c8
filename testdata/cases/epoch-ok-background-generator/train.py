import os

import torch
import torch.distributed as dist
from prefetch_generator import BackgroundGenerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Ahead(DataLoader):
    def __iter__(self):
        return BackgroundGenerator(super().__iter__(), max_prefetch=4)


def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = Ahead(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
        print(epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
