import fixed
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

dist.init_process_group("gloo")
inputs = torch.linspace(-1, 1, 80).unsqueeze(1)
dataset = TensorDataset(inputs, inputs**2)
print('seed', fixed.SEED)
train, valid = random_split(dataset, [64, 16])
sampler = DistributedSampler(train)
loader = DataLoader(train, batch_size=4, sampler=sampler)
model = DistributedDataParallel(nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
dist.destroy_process_group()
