import torch
from torch.nn.parallel import DistributedDataParallel as Replica
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

__all__ = ["Replica", "ice_loader"]


def ice_loader():
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=4, sampler=sampler), sampler
