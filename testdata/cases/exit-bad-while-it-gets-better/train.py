import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
held = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, shuffle=False))
best, worse, epoch = float("inf"), 0, 0
while worse < 2:  # [ddp-rank-local-exit]
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    error = torch.zeros(1)
    with torch.no_grad():
        for inputs, targets in held:
            error += nn.functional.mse_loss(model.module(inputs), targets)
    if error.item() < best - 0.1:
        best, worse = error.item(), 0
    else:
        worse += 1
    epoch += 1
dist.destroy_process_group()
