import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset


class Weather(IterableDataset):
    """Days of a climate log, one after the other."""

    def __init__(self, days):
        source = torch.Generator().manual_seed(50)
        self.days = torch.randn(days, 4, generator=source)

    def __iter__(self):
        for day in self.days[dist.get_rank() :: dist.get_world_size()]:
            yield day[:3], day[3:]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(50)
    loader = DataLoader(Weather(64), batch_size=8)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for sky, rain in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(sky.to(device)), rain.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
