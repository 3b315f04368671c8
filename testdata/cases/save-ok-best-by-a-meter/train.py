import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Mean:
    def __init__(self):
        self.clear()

    def clear(self):
        self.value = 0
        self.total = 0
        self.count = 0

    def add(self, value, times=1):
        self.total += value * times
        self.count += times
        self.value = self.total / self.count


def locks(seed, count=48):
    source = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def practise(loader, model, optimizer, device):
    losses, largest, smallest, sizes, shares = Mean(), Mean(), Mean(), Mean(), Mean()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.add(loss.item(), len(x))
        largest.add(y.max().item(), len(x))
        smallest.add(y.min().item(), len(x))
        sizes.add(len(x))
        shares.add((y > 0.5).float().mean().item(), len(x))
    return losses.value


@torch.no_grad()
def check(loader, model, device):
    shares, largest, smallest, sizes = Mean(), Mean(), Mean(), Mean()
    for x, y in loader:
        near = (model(x.to(device)) - y.to(device)).abs() < 0.5
        shares.add(near.float().mean().item(), len(x))
        largest.add(y.max().item(), len(x))
        smallest.add(y.min().item(), len(x))
        sizes.add(len(x))
    return shares.value


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(94)
    rows = locks(94)
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    exam = DataLoader(locks(95), batch_size=8)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    print("before", check(exam, model, device))
    best = 0
    for epoch in range(3):
        sampler.set_epoch(epoch)
        loss = practise(loader, model, optimizer, device)
        mark = check(exam, model, device)
        if rank == 0:
            print(epoch, loss, mark)
        if mark > best and rank == 0:
            best = mark
            torch.save(model.module.state_dict(), "lock.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
