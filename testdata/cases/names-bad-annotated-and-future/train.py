from __future__ import annotations

import os
import typing as t

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

if t.TYPE_CHECKING:
    from torch.utils.data import Dataset

Wrapped: t.TypeAlias = DistributedDataParallel


def feed(rows: Dataset) -> DataLoader[tuple[torch.Tensor, torch.Tensor]]:
    made: DataLoader = DataLoader(rows, batch_size=6, shuffle=True)  # [ddp-missing-distributed-sampler]
    return t.cast("DataLoader", made)


def main() -> None:
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    x = torch.rand(60, 4)
    model: nn.Module = Wrapped(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in feed(TensorDataset(x, x.sum(dim=1, keepdim=True))):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
