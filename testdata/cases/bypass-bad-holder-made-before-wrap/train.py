import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Denoiser(nn.Module):
    """Learns what was added to a seismogram."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def losses(self, trace):
        noise = torch.randn_like(trace)
        return nn.functional.mse_loss(self.network(trace + noise), noise)


def traces(count=64):
    return TensorDataset(torch.randn(count, 6, generator=torch.Generator().manual_seed(5)))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(5)
    rows = traces()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    network = nn.Linear(6, 6)
    denoiser = Denoiser(network)
    wrapped = DDP(network)
    optimizer = torch.optim.Adam(wrapped.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (trace,) in loader:
            optimizer.zero_grad()
            loss = denoiser.losses(trace)  # [ddp-bypassed-wrapper]
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
