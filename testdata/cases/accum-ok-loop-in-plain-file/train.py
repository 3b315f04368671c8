import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from weigh import weigh


class Scale:
    def __init__(self, device):
        self.device = device
        self.model = DistributedDataParallel(nn.Linear(3, 1).to(device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def empty(self):
        self.optimizer.zero_grad()

    def held(self, more):
        return self.model.no_sync() if more else contextlib.nullcontext()

    def put(self, grain, mass, share):
        loss = nn.functional.mse_loss(self.model(grain.to(self.device)), mass.to(self.device))
        (loss / share).backward()

    def read(self):
        self.optimizer.step()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(12)
    source = torch.Generator().manual_seed(12)
    grain = torch.rand(64, 3, generator=source)
    rows = TensorDataset(grain, grain.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    crates = DataLoader(rows, batch_size=16, sampler=sampler)
    scale = Scale(device)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        weigh(crates, scale, 4)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
