import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Told:
    """Turns that are shown on the screen."""

    def __init__(self, turns):
        self.turns = turns

    def __iter__(self):
        for turn in self.turns:
            print("turn", turn)
            yield turn


def fens(count=48):
    source = torch.Generator().manual_seed(24)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def endless(loader):
    while True:
        for batch in loader:
            yield batch


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(24)
    rows = fens()
    sampler = DistributedSampler(rows)  # [ddp-missing-set-epoch]
    batches = endless(DataLoader(rows, batch_size=8, sampler=sampler))
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    turns = range(9)
    if rank == 0:
        turns = Told(turns)
    for _ in turns:
        x, y = next(batches)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
