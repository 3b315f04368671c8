import torch.distributed as dist
from torch.utils.data import DistributedSampler


def number():
    return dist.get_rank()


def started():
    return dist.is_initialized()


def shares(rows):
    return DistributedSampler(rows)
