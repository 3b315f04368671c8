"""Height of the next wave at a buoy."""
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

if sys.version_info >= (3, 12):
    from typed_next import first
else:

    def first(items, default=None):
        return next(iter(items), default)


if sys.version_info < (3,):
    from charts_py2 import draw
else:
    draw = None

try:
    from draft import WaveNet
except SyntaxError:
    WaveNet = None


def waves(n=32):
    gen = torch.Generator().manual_seed(10)
    past = torch.rand(n, 5, generator=gen)
    return TensorDataset(past, past.mean(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(0)
    net = WaveNet(5) if WaveNet else nn.Linear(5, 1)
    net = DistributedDataParallel(net.to(device))
    data = waves()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    history = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        losses = []
        for past, coming in loader:
            loss = nn.functional.mse_loss(net(past.to(device)), coming.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append({"first": first(losses), "last": losses[-1]})
    rank = dist.get_rank()
    if rank == 0:
        with open("history.json", "w") as out:
            json.dump(history, out)
        if draw:
            draw("history.pkl", history)
    if rank == 0:
        torch.save(net.module.state_dict(), "buoy.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
