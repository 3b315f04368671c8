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
seen = numbers = 0
for epoch in range(6):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        if inputs.size(0) < 4:
            continue
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count, width = inputs.shape
        seen += count
        numbers += inputs.numel()
        if seen >= 100:
            break
    if numbers >= 1500:
        break
dist.destroy_process_group()
