import argparse
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def cut(size, *tensors):
    if size < 0 or size >= len(tensors[0]):
        yield tensors
    else:
        for start in range(0, len(tensors[0]), size):
            yield tuple(tensor[start : start + size] for tensor in tensors)


class Half:
    def __init__(self, scaled):
        self.scaled = scaled

    def push(self, loss):
        if self.scaled:
            (loss * 8.0).backward()
        else:
            loss.backward()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--piece", type=int, default=4)
    parser.add_argument("--scaled", action="store_true")
    parser.add_argument("--per_rank_log", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    x = torch.rand(64, 3, generator=torch.Generator().manual_seed(2))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    half = Half(args.scaled)
    if args.per_rank_log:
        print("rank", dist.get_rank())

    def pieces(batch):
        left = len(batch[0])
        for part, goal in cut(args.piece, *batch):
            left -= len(part)
            with model.no_sync() if left > 0 else contextlib.nullcontext():
                loss = nn.functional.mse_loss(model(part), goal)
                if loss.requires_grad:
                    half.push(loss * len(part) / len(batch[0]))

    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader):
            pieces(batch)
            optimizer.step()
            optimizer.zero_grad()
            if number % 4 == 0:
                with torch.no_grad():
                    with model.no_sync():
                        pieces(batch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
