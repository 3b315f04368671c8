import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PARTS = 4


def barges(count=64):
    source = torch.Generator().manual_seed(42)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(42)
    rows = barges()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            for goal in (y, y.square()):
                loss = nn.functional.mse_loss(model(x), goal)
                loss.backward()  # [ddp-wasted-gradient-sync]
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
