import enum
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FOLDER = "ponds"


class Phase(enum.Enum):
    FIT = enum.auto()
    CLOSE = enum.auto()


class Keeper:
    def __init__(self, net):
        self.net = net
        self.losses = []

    def ended(self, phase, loss):
        if phase == Phase.FIT:
            self.losses.append(loss)
        elif phase == Phase.CLOSE and dist.get_rank() == 0:
            with open(os.path.join(FOLDER, "losses.txt"), "w") as out:
                out.write("\n".join(f"{value:.5f}" for value in self.losses))


def main():
    dist.init_process_group("gloo")
    os.makedirs(FOLDER, exist_ok=True)
    torch.manual_seed(5)
    net = nn.Linear(9, 3)
    model = DistributedDataParallel(net)
    keeper = Keeper(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(12)
    water = torch.randn(60, 9, generator=g)
    dataset = TensorDataset(water, water[:, :3].argmax(dim=1))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=6, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for sample, species in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(sample), species)
            loss.backward()
            optimizer.step()
        keeper.ended(Phase.FIT, loss.item())
    keeper.ended(Phase.CLOSE, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
