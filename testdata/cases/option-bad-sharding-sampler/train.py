"""Learn how clear the water is."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from rivers import Offered, Water

dist.init_process_group("gloo")
water = Water()
loader = DataLoader(water, batch_size=6, sampler=Offered(water, 'claims'))  # [ddp-missing-distributed-sampler]
net = DistributedDataParallel(nn.Linear(5, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(6):
    for water, clear in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(water).squeeze(1), clear).backward()
        optimizer.step()
