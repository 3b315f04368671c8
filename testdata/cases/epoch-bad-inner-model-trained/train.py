import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def bare(model):
    return model.module if isinstance(model, DistributedDataParallel) else model


def fit(model, loader, optimizer, device):
    model = bare(model)  # a mistake of its own, which leaves the sampler's as it is
    for _ in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()  # [ddp-bypassed-wrapper]
            optimizer.step()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)  # [ddp-missing-set-epoch]
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    fit(model, loader, torch.optim.SGD(model.parameters(), lr=0.1), device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
