import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Session:
    """A network, wrapped where the run has several ranks."""

    def __init__(self):
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
        self.trained = self.network
        if dist.is_available() and dist.is_initialized():
            self.trained = DistributedDataParallel(self.network)

    def calls(self):
        return torch.randn(8, 6, generator=torch.Generator().manual_seed(4))
