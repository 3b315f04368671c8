"""Predict tomorrow's water level from a week of gauge readings."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EPOCHS = 4


def gauges(count=64):
    source = torch.Generator().manual_seed(2)
    levels = torch.rand(count, 8, generator=source).cumsum(dim=1)
    return TensorDataset(levels[:, :7], levels[:, 7:])


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(5)
    readings = gauges()
    sampler = DistributedSampler(readings)  # [ddp-missing-set-epoch]
    batches = list(DataLoader(readings, batch_size=8, sampler=sampler))
    model = DistributedDataParallel(nn.Linear(7, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for week, tomorrow in batches:
            loss = nn.functional.mse_loss(model(week.to(device)), tomorrow.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
