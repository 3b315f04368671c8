"""The length of a shadow from the height of the sun."""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, optimizer, loader, window):
    for number, (sun, shadow) in enumerate(loader):
        last = (number + 1) % window == 0
        if window > 1:
            for parameter in model.parameters():
                parameter.grad = None
            with torch.no_grad():
                print(model(sun).mean(), shadow.mean())
        else:
            nn.functional.mse_loss(model(sun), shadow).backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, default=1)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    height = torch.rand(64, 1, generator=torch.Generator().manual_seed(9)) + 0.2
    data = TensorDataset(height, 1 / height)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        train(model, optimizer, DataLoader(data, batch_size=4, sampler=sampler), options.window)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
