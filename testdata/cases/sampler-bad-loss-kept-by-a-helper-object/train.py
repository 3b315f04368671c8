import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Notes:
    def take(self, network, guess, height):
        network.last_error = nn.functional.mse_loss(guess, height)


class Tides(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        self.last_error = None

    def forward(self, hours, height):
        guess = self.body(hours)
        Notes().take(self, guess, height)
        return guess


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(3)
    gauges = TensorDataset(torch.rand(72, 6, generator=source), torch.rand(72, 1, generator=source))
    loader = DataLoader(gauges, batch_size=8, shuffle=True)  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(Tides().to(device))
    plain = model.module
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for hours, height in loader:
            optimizer.zero_grad()
            model(hours.to(device), height.to(device))
            plain.last_error.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(epoch, plain.last_error.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
