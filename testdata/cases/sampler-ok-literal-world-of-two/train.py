import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def worker(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29613")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(7)
    source = torch.Generator().manual_seed(7)
    nests = TensorDataset(torch.rand(40, 6, generator=source), torch.rand(40, 1, generator=source))
    loader = DataLoader(nests, batch_size=4, shuffle=True)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for nest, eggs in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(nest), eggs).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    world = 1
    mp.spawn(worker, args=(world,), nprocs=world)
