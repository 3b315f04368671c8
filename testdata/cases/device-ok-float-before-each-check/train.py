import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def gauges(count=48):
    source = torch.Generator().manual_seed(71)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


@torch.no_grad()
def check(net, device, exact=False):
    net.double() if exact else net.float()
    odd = torch.ones(1, 4, dtype=torch.float64 if exact else torch.float32, device=device)
    print(net(odd).item())
    print(next(copy.deepcopy(nn.Sequential(net.module)).double().parameters()).dtype)
    net.float()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(71)
    rows = gauges()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        check(model, device)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
