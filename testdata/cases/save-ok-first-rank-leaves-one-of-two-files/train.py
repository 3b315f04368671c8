"""The age of a tree from its rings; rank 0 reads the rings first and leaves them in a file for the others."""
import argparse
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


@contextmanager
def first(rank):
    if rank != 0:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


class Rings(Dataset):
    def __init__(self, place):
        place = Path(place)
        kept = (place if place.is_file() else place / "rings").with_suffix(".kept")
        if kept.is_file():
            self.rings = torch.load(kept)
        else:
            self.rings = self.read(kept)

    def read(self, kept):
        rings = torch.rand(32, 4, generator=torch.Generator().manual_seed(2))
        torch.save(rings, kept)
        return rings

    def __len__(self):
        return len(self.rings)

    def __getitem__(self, index):
        return self.rings[index], self.rings[index].sum().reshape(1)


def checked(options):
    if options.crop and not options.size:
        raise SystemExit("--crop needs --size")
    if options.blur and not options.width:
        raise SystemExit("--blur needs --width")
    if options.turn and not options.angle:
        raise SystemExit("--turn needs --angle")
    if options.mix and not options.share:
        raise SystemExit("--mix needs --share")
    return options


def main():
    parser = argparse.ArgumentParser()
    for name in ("crop", "size", "blur", "width", "turn", "angle", "mix", "share", "again"):
        parser.add_argument(f"--{name}", type=float)
    options = checked(parser.parse_args())
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    with first(rank):
        data = Rings(".")
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rings, age in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rings), age).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
