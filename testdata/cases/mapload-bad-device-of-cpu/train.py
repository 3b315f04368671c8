import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
model = DDP(nn.Linear(4, 1).to(device))
if os.path.exists("last.pt"):
    model.load_state_dict(torch.load("last.pt")["model"])  # [ddp-load-without-map-location]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4, device=device)).sum()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    torch.save({"model": model.state_dict(), "loss": loss.detach().cpu()}, "last.pt")
dist.destroy_process_group()
