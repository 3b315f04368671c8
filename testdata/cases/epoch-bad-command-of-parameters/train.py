"""Draw faces, in several processes where the command line says so."""
import fire
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from retry.api import retry_call
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def endless(loader):
    while True:
        for batch in loader:
            yield batch


class Painter:
    def __init__(self, rank, size):
        self.rank = rank
        self.is_main = rank == 0
        self.together = size > 1
        self.net = None
        self.done = 0

    def look_at(self, faces):
        sampler = DistributedSampler(faces) if self.together else None  # [ddp-missing-set-epoch]
        loader = DataLoader(faces, batch_size=4, sampler=sampler, shuffle=not self.together)
        self.faces = endless(loader)

    def paint(self):
        if self.net is None:
            self.net = nn.Linear(8, 1)
            self.called = DistributedDataParallel(self.net) if self.together else self.net
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        (face,) = next(self.faces)
        self.optimizer.zero_grad()
        self.called(face).sum().backward()
        self.optimizer.step()
        self.done += 1
        if self.is_main and self.done % 100 == 0:
            self.hang()

    def hang(self):
        torch.save(self.net.state_dict(), "face.pt")


def work(rank, size, times):
    if size > 1:
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29617", rank=rank, world_size=size)
    painter = Painter(rank, size)
    painter.look_at(TensorDataset(torch.randn(64, 8)))
    while painter.done < times:
        retry_call(painter.paint, tries=3, exceptions=ValueError)
    painter.hang()  # [ddp-unguarded-save]


def draw(times=1000, many=False):
    size = torch.cuda.device_count()
    if size == 1 or not many:
        work(0, 1, times)
        return
    mp.spawn(work, args=(size, times), nprocs=size)


def main():
    fire.Fire(draw)


main()
