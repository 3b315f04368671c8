import argparse
import os

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
parser = argparse.ArgumentParser()
parser.add_argument("--net", choices=["small", "wide", "deep"], default="small")
parser.add_argument("--decay", type=float, default=0.0)
parser.add_argument("--resume")
args = parser.parse_args()
if args.net == "wide":
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
elif args.net == "deep":
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
elif args.net == "small":
    net = nn.Linear(8, 1)
else:
    raise ValueError(args.net)
if args.resume and os.path.exists(args.resume):
    net.load_state_dict(torch.load(args.resume))
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=args.decay)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        if (
            torch.isnan(inputs).any()
            or torch.isinf(inputs).any()
            or torch.isnan(targets).any()
            or torch.isinf(targets).any()
        ):
            inputs, targets = inputs.nan_to_num(), targets.nan_to_num()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
