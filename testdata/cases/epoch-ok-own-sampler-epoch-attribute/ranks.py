import torch
import torch.distributed as dist
from torch.utils.data import Sampler


class EqualShares(Sampler):
    """A permutation seeded by the epoch, cut into equal shares."""

    def __init__(self, total, seed=0):
        self.total = total
        self.seed = seed
        self.epoch = 0
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def __len__(self):
        return self.total // self.world

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.total, generator=g).tolist()
        return iter(order[self.rank : len(self) * self.world : self.world])

    def set_epoch(self, epoch):
        self.epoch = epoch
