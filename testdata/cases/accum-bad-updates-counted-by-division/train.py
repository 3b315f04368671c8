import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PARTS = 4


def punts(count=64):
    source = torch.Generator().manual_seed(44)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(44)
    rows = punts()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            with nullcontext():
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device)) / PARTS
                loss.backward()  # [ddp-wasted-gradient-sync]
            if (number + 1) // PARTS > number // PARTS:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
