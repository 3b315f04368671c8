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
stop = False
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            error = sum(nn.functional.mse_loss(model.module(inputs), targets) for inputs, targets in held)
        stop = error.item() < 0.1
    answers = [stop if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(answers, src=0)
    if dist.get_rank() != 0:
        stop = answers[0]
    if stop:
        break
dist.destroy_process_group()
