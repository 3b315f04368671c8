import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build(rows, /, *, make=DataLoader, sampler=None, **more):
    return make(rows, sampler=sampler, **more)  # [ddp-missing-distributed-sampler]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    source = torch.Generator().manual_seed(3)
    x = torch.rand(60, 4, generator=source)
    (rows, *_), options = (TensorDataset(x, x.sum(dim=1, keepdim=True)), 1, 2), dict(batch_size=6)
    *unused, loader = 0, 1, build(rows, **options)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(loader, start=1):
        x, y, *rest = batch
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    print(rank, world, unused, rest)
    dist.destroy_process_group()


twice = ["itself"]
twice += twice


if __name__ == "__main__":
    main()
