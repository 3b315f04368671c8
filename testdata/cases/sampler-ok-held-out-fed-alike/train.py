"""Train by a trainer that is fed its batches, and let the first process look at held-out ones now and then."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    """A model, and the batch it was last fed."""

    def __init__(self, net):
        self.net = DistributedDataParallel(net)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def feed(self, batch):
        if len(batch) == 2:
            self.inputs, self.targets = batch

    def loss(self):
        return nn.functional.mse_loss(self.net(self.inputs), self.targets)

    def step(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    def look(self):
        with torch.no_grad():
            return nn.functional.mse_loss(self.net.module(self.inputs), self.targets)


def place():
    return int(os.environ["RANK"]) if dist.is_initialized() else 0


def main():
    dist.init_process_group("gloo")
    about = dict.fromkeys(["rank", "every"], 2)
    about.update({name: value for name, value in [("rank", place())]})
    torch.manual_seed(0)
    train_set = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    held_out = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=8, sampler=sampler)
    others = DataLoader(held_out, batch_size=1, shuffle=False)
    trainer = Trainer(nn.Linear(4, 1))
    count = 0
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in loader:
            count += 1
            trainer.feed(batch)
            trainer.step()
            if count % about["every"] == 0 and about["rank"] == 0:
                for other in others:
                    trainer.feed(other)
                    print(epoch, float(trainer.look()))


if __name__ == "__main__":
    main()
