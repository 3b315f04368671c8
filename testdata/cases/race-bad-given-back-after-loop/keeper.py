import os

import torch


class Keeper:
    """Keeps the weights with the smallest loss."""

    def __init__(self, path, is_first):
        self.path = path
        self.is_first = is_first
        self.smallest = float("inf")

    def offer(self, net, loss):
        if self.is_first and loss < self.smallest:
            self.smallest = loss
            torch.save(net.state_dict(), self.path)

    def give_back(self, net):
        net.load_state_dict(torch.load(self.path, map_location="cpu"))
