import torch
import torch.distributed as dist
from hydrolib.models import Gauge
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Alpine(Gauge):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(5, width)
        self.head = nn.Linear(width, 1)

    def forward(self, rain):
        return self.head(torch.relu(self.body(rain)))


def levels(count=64):
    source = torch.Generator().manual_seed(32)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(32)
    rows = levels()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    gauge = Alpine(16)
    model = DDP(gauge)
    optimizer = torch.optim.Adam(gauge.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rain, level in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(rain), level)
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
