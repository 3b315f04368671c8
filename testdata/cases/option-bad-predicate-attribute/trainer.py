"""A trainer that is told by the launcher's file who reports."""
import json

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Base:
    def __init__(self, plan):
        with open(plan) as file:
            self.speaks = json.load(file)["speaks"]


class Trainer(Base):
    def __init__(self, net, plan):
        super().__init__(plan)
        self.loud = self.speaks
        self.net = DistributedDataParallel(net)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self, loader):
        for sound, word in loader:
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.net(sound), word).backward()
            self.optimizer.step()

    def keep(self, epoch):
        if self.speaks:
            torch.save(self.net.module.state_dict(), f"words_{epoch}.pt")  # [ddp-unguarded-save]


class Listener:
    speaks = False
