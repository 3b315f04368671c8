import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
dist.init_process_group("nccl")
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
torch.manual_seed(12)

wind = torch.rand(500, 3)
field = TensorDataset(wind, wind.norm(dim=1, keepdim=True))
fit, check = train_test_split(np.arange(500), test_size=0.1, random_state=12)
part = Subset(field, fit)
sampler = DistributedSampler(part)
loader = DataLoader(part, batch_size=20, sampler=sampler)
net = DistributedDataParallel(nn.Linear(3, 1).cuda(), device_ids=[local])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(args.epochs):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
if local == 0:
    print(f"{len(check)} rows are left")
dist.destroy_process_group()
