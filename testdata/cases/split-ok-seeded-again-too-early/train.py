import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

dist.init_process_group("gloo")
random.seed(4)
torch.manual_seed(4)
salt = torch.rand(64, 2)
sea = TensorDataset(salt, salt.mean(1, keepdim=True))
near, far = random_split(sea, [48, 16])
torch.manual_seed(4 + dist.get_rank())  # dropout of its own on each rank
sampler = DistributedSampler(near)
loader = DataLoader(near, batch_size=8, sampler=sampler)
model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 6), nn.Dropout(0.2), nn.Linear(6, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
dist.destroy_process_group()
