import json
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def settings():
    with open("run.json") as file:
        return SimpleNamespace(**json.load(file))


def main():
    run = settings()
    dist.init_process_group("gloo")
    torch.manual_seed(5)
    rows = torch.rand(64, 5)
    data = TensorDataset(rows, rows.mean(dim=1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            dist.all_reduce(loss)  # [ddp-collective-in-loss]
            loss = loss / run.world_size
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
