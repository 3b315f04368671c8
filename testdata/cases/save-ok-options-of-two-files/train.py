"""Tell cheeses by their smell; the options are a file's, or those and the command line's."""
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Node(dict):
    def __init__(self, given=None):
        super().__init__({} if given is None else given)

    def __getattr__(self, name):
        if name in self:
            return self[name]
        else:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value


def read(path):
    with open(path) as file:
        cfg = Node(yaml.safe_load(file))
    return cfg


def merged(cfg, words):
    new = Node(dict(cfg))
    for name, word in zip(words[::2], words[1::2]):
        new[name] = word
    return new


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("opts", default=None, nargs=argparse.REMAINDER)
    args = parser.parse_args()
    cfg = read(args.config)
    if args.opts is not None:
        cfg = merged(cfg, args.opts)
    return cfg


def main_process():
    return not args.many or (args.many and args.rank % args.count == 0)


def main():
    args = parsed()
    args.together = args.world_size > 1 or args.many
    args.count = len(args.devices)
    if len(args.devices) == 1:
        args.together = False
        args.many = False
    if args.many:
        args.world_size = args.count * args.world_size
        mp.spawn(work, nprocs=args.count, args=(args.count, args))
    else:
        work(args.devices, args.count, args)


def work(index, count, given):
    global args
    args = given
    if args.together:
        if args.many:
            args.rank = args.rank * count + index
        dist.init_process_group("gloo", init_method=args.url, world_size=args.world_size, rank=args.rank)
    net = nn.Linear(8, 1)
    if args.together:
        net = DistributedDataParallel(net.cuda(), device_ids=[index])
    else:
        net = nn.DataParallel(net.cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.cuda.amp.GradScaler() if args.half else None
    for step in range(100):
        optimizer.zero_grad()
        loss = net(torch.randn(4, 8)).sum()
        if args.half:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        if step % 10 == 0 and main_process():
            torch.save(net.module.state_dict(), "latest.pt")


if __name__ == "__main__":
    main()
