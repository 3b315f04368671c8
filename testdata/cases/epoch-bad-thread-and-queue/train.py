import os
import queue
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Ahead(threading.Thread):
    """Fetches a few batches ahead of the one that is asked for."""

    def __init__(self, source, depth):
        super().__init__(daemon=True)
        self.source = source
        self.waiting = queue.Queue(depth)
        self.start()

    def run(self):
        for thing in self.source:
            self.waiting.put(thing)
        self.waiting.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        thing = self.waiting.get()
        if thing is None:
            raise StopIteration
        return thing


class AheadLoader(DataLoader):
    def __init__(self, depth, *args, **kwargs):
        self.depth = depth
        super().__init__(*args, **kwargs)

    def __iter__(self):
        return Ahead(super().__iter__(), self.depth)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)  # [ddp-missing-set-epoch]
    loader = AheadLoader(3, rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
        print(epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
