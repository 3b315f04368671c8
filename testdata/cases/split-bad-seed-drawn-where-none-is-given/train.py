import argparse
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    if args.seed is None:
        args.seed = random.randint(1, 9999)
    torch.manual_seed(args.seed)
    rows = torch.arange(120.0).reshape(40, 3) / 120
    whole = TensorDataset(rows, rows.sum(1, keepdim=True))
    ours, back = random_split(whole, [32, 8])  # [ddp-rank-dependent-split]
    print(len(back), "rows kept back")

    sampler = DistributedSampler(ours)
    loader = DataLoader(ours, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
