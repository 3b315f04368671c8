import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


dist.init_process_group("gloo")
torch.manual_seed(4)
model = DDP(nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    out = model(torch.randn(5, 3))
    losses = {"size": out.square().mean(), "sum": out.sum().abs()}
    dist.all_reduce(losses["size"])  # [ddp-collective-in-loss]
    losses["size"].div_(dist.get_world_size())
    losses["size"].backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
