import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def fit(epochs):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for moss, damp in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(moss.to(device)), damp.to(device)).backward()
            optimizer.step()
        print(epoch)
    dist.destroy_process_group()


def cli():
    """The entry point that pyproject.toml names."""
    fit(epochs=3)
