import os
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@contextmanager
def first_goes_ahead(local_rank):
    if local_rank > 0:
        dist.barrier()
    yield
    if local_rank == 0:
        dist.barrier()


def unpack(folder):
    if not folder.is_dir():
        packed = Path("rows.bin")
        packed.write_bytes(bytes(range(64)))
        folder.mkdir()
        (folder / "rows").write_bytes(packed.read_bytes())
        packed.unlink()


def main():
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    with first_goes_ahead(local_rank):
        unpack(Path("rows"))
    torch.manual_seed(4)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(8, 4, device=device)).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
