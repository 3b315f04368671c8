import os
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PARTS = 4


def skiffs(count=64):
    source = torch.Generator().manual_seed(43)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer, self.seen = net, optimizer, 0

    def feed(self, x, y):
        with self.net.no_sync() if (self.seen + 1) % PARTS else contextlib.nullcontext():
            loss = nn.functional.mse_loss(self.net(x), y) / PARTS
            loss.backward()
        self.seen += 1
        if self.seen % PARTS == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(43)
    rows = skiffs()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    trainer = Trainer(model, optimizer)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            trainer.feed(x.to(device), y.to(device))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
