import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def orchards(count=32):
    source = torch.Generator().manual_seed(19)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def begin(options, card):
    options.together = bool(os.environ.get("SEVERAL_CARDS"))
    if options.together:
        dist.init_process_group("nccl", init_method=options.address, rank=card, world_size=options.cards)


def work(card, options):
    torch.manual_seed(19)
    begin(options, card)
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    if card is not None:
        net.cuda(card)
    device = torch.device("cpu") if card is None else torch.device("cuda", card)
    rows = orchards()
    sampler = DistributedSampler(rows) if options.together else None
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    if options.together:
        net = DistributedDataParallel(net, device_ids=[card])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for epoch in range(3):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=0)
    parser.add_argument("--address", default="tcp://127.0.0.1:29517")
    options = parser.parse_args()
    if options.cards:
        mp.spawn(work, nprocs=options.cards, args=(options,))
    else:
        work(None, options)


if __name__ == "__main__":
    main()
