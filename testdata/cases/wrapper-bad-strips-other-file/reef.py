import torch
from torch import nn


class Reef(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.depth = nn.Linear(12, 1)

    def forward(self, sonar):
        return self.depth(self.body(sonar)).squeeze(1)


def soundings(count=96):
    generator = torch.Generator().manual_seed(5)
    sonar = torch.randn(count, 6, generator=generator)
    return torch.utils.data.TensorDataset(sonar, sonar.sum(1))
