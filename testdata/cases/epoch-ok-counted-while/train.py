import argparse
import os

import torch
import torch.distributed as dist
import torch.utils.data as tud
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=11)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--lr", type=float, default=3e-2)
parser.add_argument("--name", default="drift")
args = parser.parse_args()

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
local = int(os.environ.get("LOCAL_RANK", 0))
use_cuda = torch.cuda.is_available()
dist.init_process_group(backend="nccl" if use_cuda else "gloo")
device = torch.device("cuda", local) if use_cuda else torch.device("cpu")
torch.manual_seed(14)

source = torch.Generator().manual_seed(0)
current = torch.randn(64, 8, generator=source)
drift = current @ torch.randn(8, 6, generator=source)
pairs = tud.TensorDataset(current, drift)

shares = tud.distributed.DistributedSampler(pairs, shuffle=True, num_replicas=world, rank=rank)
loader = tud.DataLoader(pairs, batch_size=args.batch, sampler=shares)

model = nn.Linear(8, 6)
model.to(device)
model = DistributedDataParallel(model, device_ids=[local] if use_cuda else None)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)

more = True
total = 0
while more:
    shares.set_epoch(total)
    for batch in loader:
        current, drift = (part.to(device) for part in batch)
        loss = nn.functional.l1_loss(model(current), drift)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.5)
        optimizer.step()
        schedule.step()
        total += 1
        if rank == 0 and total % 5 == 0:
            print(f"{total}: {loss.item():.4f}")
        if total >= args.steps:
            more = False
            break

if rank == 0:
    torch.save(model.module.state_dict(), f"{args.name}.pt")
dist.barrier()
dist.destroy_process_group()
