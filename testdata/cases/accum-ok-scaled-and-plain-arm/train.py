import argparse
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PARTS = 4


def bridges(count=64):
    source = torch.Generator().manual_seed(5)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


class Scaled:
    """Backward with a scaled loss; the step is made when asked for."""

    def __init__(self, kind):
        self.scaler = torch.amp.GradScaler(kind, enabled=kind == "cuda")

    def __call__(self, loss, optimizer, update):
        self.scaler.scale(loss).backward()
        if update:
            self.scaler.step(optimizer)
            self.scaler.update()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scaled", action="store_true")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(5)
    rows = bridges()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = Scaled(device.type)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader, 1):
            quiet = nullcontext() if number % PARTS == 0 else model.no_sync()
            with quiet:
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
                if args.scaled:
                    scaler(loss / PARTS, optimizer, number % PARTS == 0)
                else:
                    (loss / PARTS).backward()
                    if number % PARTS == 0:
                        optimizer.step()
            if number % PARTS == 0:
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
