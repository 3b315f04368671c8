import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset


def part_of(rows, number, parts):
    return rows[number::parts]


class Signals(IterableDataset):
    def __init__(self, count):
        self.kept = None
        self.cut(torch.rand(count, 6, generator=torch.Generator().manual_seed(9)))

    def cut(self, rows):
        self.kept = part_of(rows, number=int(os.environ["RANK"]), parts=int(os.environ["WORLD_SIZE"]))

    def __iter__(self):
        for row in self.kept:
            yield row[:5], row[5:]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    loader = DataLoader(Signals(64), batch_size=8)
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for wave, noise in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(wave.to(device)), noise.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
