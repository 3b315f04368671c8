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
best, bad = float("inf"), 0
for epoch in range(6):
    sampler.set_epoch(epoch)
    total = 0.0
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    mean = total / len(loader)
    if mean < best:
        best, bad = mean, 0
    else:
        bad += 1
        if bad >= 30:
            break  # [ddp-rank-local-exit]
dist.destroy_process_group()
