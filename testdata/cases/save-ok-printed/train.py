import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    heights = torch.rand(48, 5)
    tides = TensorDataset(heights, heights.sum(1, keepdim=True))
    sampler = DistributedSampler(tides)
    loader = DataLoader(tides, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for seen, wanted in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(seen), wanted).backward()
            optimizer.step()
    json.dump({"rank": rank, "lr": 0.05}, sys.stdout)
    report = open("report.json", "w") if rank == 0 else sys.stderr
    json.dump({"epochs": 3}, report)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
