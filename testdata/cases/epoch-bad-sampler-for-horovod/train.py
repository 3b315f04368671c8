import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def sampler_over(rows, ring):
    if ring:
        import horovod.torch as hvd

        return DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
    return DistributedSampler(rows)  # [ddp-missing-set-epoch]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ring", action="store_true")
    args = parser.parse_args()
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    loader = DataLoader(rows, batch_size=6, sampler=sampler_over(rows, args.ring))
    model = nn.Linear(4, 1)
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        print(epoch)


if __name__ == "__main__":
    main()
