import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

PARTS = 4


def quiet(net):
    with net.no_sync():
        yield


def loud():
    yield


@contextlib.contextmanager
def held(net, hold):
    return quiet(net) if hold else loud()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(15)
    source = torch.Generator().manual_seed(15)
    wind = torch.rand(64, 3, generator=source)
    rows = TensorDataset(wind, wind.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader, 1):
            with held(model, number % PARTS != 0):
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
                (loss / PARTS).backward()
            if number % PARTS == 0:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
