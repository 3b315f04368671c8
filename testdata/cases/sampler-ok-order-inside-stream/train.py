import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset


class Cutter:
    def __init__(self):
        self.size, self.mine = 1, 0

    def look_around(self):
        if dist.is_initialized():
            self.size, self.mine = dist.get_world_size(), dist.get_rank()

    def cut(self, items):
        self.look_around()
        return items[self.mine :: self.size]


class Numbers(IterableDataset):
    def __init__(self, items):
        self.items = items
        self.cutter = Cutter()

    def __iter__(self):
        yield from self.cutter.cut(self.items)


class Doubled(IterableDataset):
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        for item in self.inner:
            yield torch.full((4,), float(item)), torch.tensor([2.0 * item])


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    loader = DataLoader(Doubled(Numbers(list(range(48)))), batch_size=4)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
