import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
grain = torch.arange(60.0).unsqueeze(1) / 60
barley = TensorDataset(grain, grain.exp())
order = torch.randperm(len(barley))
dist.broadcast(order, src=0)
mine = Subset(barley, order[rank::world].tolist())
model = DistributedDataParallel(nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(mine, batch_size=6):
    optimizer.zero_grad()
    mix = torch.randperm(len(x))
    nn.functional.mse_loss(model(x + 0.01 * x[mix]), y).backward()
    optimizer.step()
dist.destroy_process_group()
