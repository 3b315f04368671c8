"""Letters of a script, as each process finds them on its own disk."""
import os

import torch
from torch.utils.data import Dataset


class OnDisk(Dataset):
    """The files of the folder that the machine mounts for this process."""

    def __init__(self, folder):
        self.names = sorted(os.listdir(folder))
        self.folder = folder

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return torch.load(os.path.join(self.folder, self.names[index]))


class InMemory(Dataset):
    def __init__(self, count):
        self.letters = torch.randn(count, 5)

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, index):
        return self.letters[index], self.letters[index].sum()
