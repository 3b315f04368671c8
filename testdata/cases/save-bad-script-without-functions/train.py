import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.save({"torch": torch.__version__}, "versions.pt")  # [ddp-unguarded-save]
dist.init_process_group("gloo")
x = torch.rand(40, 3)
rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
model = DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
dist.destroy_process_group()
