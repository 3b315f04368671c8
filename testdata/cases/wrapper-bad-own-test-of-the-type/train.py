import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def quays(count=48):
    source = torch.Generator().manual_seed(93)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def is_spread(net):
    return type(net) in (nn.DataParallel,)


def bare(net):
    return net.module if is_spread(net) else net


def build(options, device):
    if options.start and os.path.isfile(options.start):
        net = nn.Linear(3, 1)
        net.load_state_dict(torch.load(options.start, map_location="cpu"))
        return net.to(device)
    if options.wide:
        return nn.Sequential(nn.Linear(3, 9), nn.Linear(9, 1)).to(device)
    if options.depth == 2 or options.depth == 3 and not options.exact:
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).to(device)
    if options.zeros and options.exact:
        net = nn.Linear(3, 1)
        nn.init.zeros_(net.weight)
        return net.to(device)
    return nn.Linear(3, 1).to(device)


def spread(net, device, options):
    if device.type != "cpu" and options.rank == -1:
        return nn.DataParallel(net)
    if options.rank != -1 and not (options.apart or options.alone):
        return nn.parallel.DistributedDataParallel(net)
    return net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--zeros", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--start")
    options = parser.parse_args()
    options.rank = int(os.environ.get("RANK", -1))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if options.rank != -1:
        dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(93)
    rows = quays()
    model = spread(build(options, device), device, options)
    sampler = DistributedSampler(rows) if options.rank != -1 else None
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
    if options.rank in (-1, 0):
        torch.save({"net": bare(model).state_dict()}, "quay.pt")  # [ddp-wrapper-state-dict]
    if options.rank != -1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
