import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.squeeze = nn.Linear(24, 6)
        self.expand = nn.Linear(6, 24)

    def forward(self, x):
        return self.expand(F.elu(self.squeeze(x)))


class AnomalyTrainer:
    def __init__(self, rank, device, lr=0.01):
        self.rank = rank
        torch.manual_seed(13)
        self.model = nn.parallel.DistributedDataParallel(Autoencoder().to(device))
        self.lr = lr
        self.device = None
        self.optimizer = None

    def use(self, device):
        self.device = device
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)
        return self

    def train(self, loader, epochs):
        for epoch in range(epochs):
            loader.sampler.set_epoch(epoch)
            for (reading,) in loader:
                reading = reading.to(self.device)
                self.optimizer.zero_grad(set_to_none=True)
                loss = F.mse_loss(self.model(reading), reading)
                loss.backward()
                self.optimizer.step()
            if self.rank == 0:
                print(f"{epoch=} {loss.item():.4f}")


def pump_readings():
    gen = torch.Generator().manual_seed(77)
    return TensorDataset(torch.rand(60, 24, generator=gen))


def work(rank, world, address):
    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo", init_method=address, rank=rank, world_size=world)
    readings = pump_readings()
    loader = DataLoader(readings, batch_size=6, sampler=DistributedSampler(readings))
    device = torch.device("cuda", rank) if gpu else torch.device("cpu")
    AnomalyTrainer(rank, device).use(device).train(loader, epochs=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    mp.spawn(work, args=(2, f"tcp://localhost:{port}"), nprocs=2)
