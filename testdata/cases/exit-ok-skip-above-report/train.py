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
for epoch in range(3):
    sampler.set_epoch(epoch)
    for number, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        lost = torch.isnan(loss).float()
        dist.all_reduce(lost, op=dist.ReduceOp.MAX)
        if lost > 0:
            continue
        loss.backward()
        optimizer.step()
        if number % 2 == 1:
            shown = loss.detach().clone()
            dist.all_reduce(shown)
            if dist.get_rank() == 0:
                print(shown.item())
dist.destroy_process_group()
