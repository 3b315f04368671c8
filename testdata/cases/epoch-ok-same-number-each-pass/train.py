import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Orchard:
    """Ripeness of apples from their colour; one object for the whole run."""

    def __init__(self, device, seed=3):
        self.device = device
        self.seed = seed
        source = torch.Generator().manual_seed(seed)
        colour = torch.rand(80, 3, generator=source)
        self.apples = TensorDataset(colour, colour[:, :1] - colour[:, 1:2])
        self.sampler = DistributedSampler(self.apples, shuffle=True)
        self.loader = DataLoader(self.apples, batch_size=10, sampler=self.sampler)
        self.net = DDP(nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1)).to(device))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def season(self, number):
        self.loader.sampler.set_epoch(number)
        for colour, ripe in self.loader:
            self.optimizer.zero_grad()
            error = (self.net(colour.to(self.device)) - ripe.to(self.device)).square().mean()
            error.backward()
            self.optimizer.step()
        if dist.get_rank() == 0:
            print(f"season {number}: {error.item():.4f}")


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    here = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(3)
    orchard = Orchard(here)
    for number in range(3):
        orchard.season(number)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
