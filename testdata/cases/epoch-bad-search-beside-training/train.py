import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def one_step(model, x, y, optimizer, device):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
    loss.backward()
    optimizer.step()
    return loss.item()


def search(model, loader, optimizer, device):
    seen = []
    for _ in range(2):
        for x, y in loader:
            seen.append(one_step(model, x, y, optimizer, device))
            for group in optimizer.param_groups:
                group["lr"] *= 1.2
    return seen


def train(model, loader, optimizer, device):
    for epoch in range(3):
        for x, y in loader:
            one_step(model, x, y, optimizer, device)
        print(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--search", action="store_true")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)  # [ddp-missing-set-epoch]
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if args.search:
        print(search(model, loader, optimizer, device))
    else:
        train(model, loader, optimizer, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
