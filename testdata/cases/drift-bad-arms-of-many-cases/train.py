import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build(args):
    if args.kind == "plain":
        return nn.Linear(5, 1)
    if args.kind == "wide":
        return nn.Sequential(nn.Linear(5, args.width), nn.ReLU(), nn.Linear(args.width, 1))
    if args.kind == "deep":
        return nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 1))
    if args.kind == "gated":
        return nn.Sequential(nn.Linear(5, 2), nn.GLU())
    raise ValueError(args.kind)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="plain")
    parser.add_argument("--firm", action="store_true")
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--mild-clip", type=float, default=0.0)
    parser.add_argument("--sgd", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    source = torch.Generator().manual_seed(9)
    x = torch.rand(64, 5, generator=source)
    rows = TensorDataset(x, x.mean(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(build(args))
    if args.sgd:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    clip = args.clip if args.firm else args.mild_clip
    if clip > 0 and args.width > 1000:
        raise ValueError("a wide network is not clipped")
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            output = model(x)
            optimizer.zero_grad()
            nn.functional.l1_loss(output, y).backward(retain_graph=True)
            nn.functional.mse_loss(output, y).backward()  # [ddp-unsynchronized-step]
            if clip > 0:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
