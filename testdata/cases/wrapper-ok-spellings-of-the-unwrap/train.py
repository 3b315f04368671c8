import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def yarns(count=48):
    source = torch.Generator().manual_seed(110)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def first_of(things):
    return things[0]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(110)
    rows = yarns()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    inner = model.module
    bare = model
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
    print(rank, inner, bare)
    if rank == 0:
        torch.save(getattr(model, 'module', model).state_dict(), "u0.pt")
    if rank == 0:
        torch.save((model.module if hasattr(model, 'module') else model).state_dict(), "u1.pt")
    if rank == 0:
        torch.save((model.module if isinstance(model, DistributedDataParallel) else model).state_dict(), "u2.pt")
    if rank == 0:
        torch.save(inner.state_dict(), "u3.pt")
    if rank == 0:
        torch.save(first_of([model.module]).state_dict(), "u4.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
