import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def ferry_loader(batch_size):
    source = torch.Generator().manual_seed(31)
    hours = torch.rand(72, 4, generator=source)
    trips = TensorDataset(hours, (hours[:, 0] > 0.5).long())
    sampler = DistributedSampler(trips, drop_last=True)
    return DataLoader(trips, batch_size=batch_size, sampler=sampler, drop_last=True)


def run_epoch(model, loader, optimizer, device):
    model.train()
    for hours, late in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(hours.to(device)), late.to(device)).backward()
        optimizer.step()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(6)
    loader = ferry_loader(12)
    model = DistributedDataParallel(nn.Linear(4, 2).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(1, 6):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        run_epoch(model, loader, optimizer, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
