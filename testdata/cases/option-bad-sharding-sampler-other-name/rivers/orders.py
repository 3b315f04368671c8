"""Samples of river water, and the order in which a process takes them."""
import os

import torch
from torch.utils.data import Dataset, Sampler


class Water(Dataset):
    def __init__(self):
        self.rows = torch.randn(120, 5)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], self.rows[index].sum()


class Claimed(Sampler):
    """The samples that this process has claimed before all others, by files in a folder that they share."""

    def __init__(self, source, folder):
        self.source = source
        self.folder = folder

    def __iter__(self):
        for index in torch.randperm(len(self.source)).tolist():
            if self.claims(index):
                yield index

    def claims(self, index):
        try:
            os.close(os.open(os.path.join(self.folder, str(index)), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def __len__(self):
        return len(self.source) // 4


class Offered(Claimed):
    """As many as it is offered."""


class Shuffled(Sampler):
    """All of them."""

    def __init__(self, source, folder):
        self.source = source

    def __iter__(self):
        return iter(torch.randperm(len(self.source)).tolist())

    def __len__(self):
        return len(self.source)
