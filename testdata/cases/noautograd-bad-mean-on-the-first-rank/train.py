import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
ranks = dist.get_world_size()
torch.manual_seed(5)
rows = torch.rand(64, 5)
data = TensorDataset(rows, rows.mean(dim=1, keepdim=True))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DDP(nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def loss_of(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    if ranks > 1:
        dist.reduce(loss, dst=0)  # [ddp-collective-in-loss]
        loss = loss / ranks
        dist.broadcast(loss, src=0)
    return loss


for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
dist.destroy_process_group()
