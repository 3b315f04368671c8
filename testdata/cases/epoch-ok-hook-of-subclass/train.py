import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, loader, optimizer):
        self.model, self.loader, self.optimizer = model, loader, optimizer

    def before(self, epoch):
        pass

    def fit(self, epochs, device):
        for epoch in range(epochs):
            self.before(epoch)
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(x.to(device)), y.to(device)).backward()
                self.optimizer.step()


class Telling(Trainer):
    def before(self, epoch):
        self.loader.sampler.set_epoch(epoch)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    source = torch.Generator().manual_seed(3)
    x = torch.rand(60, 4, generator=source)
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Telling(model, loader, optimizer).fit(3, device)
    print(rank, world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
