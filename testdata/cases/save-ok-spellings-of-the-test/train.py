import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def tents(count=48):
    source = torch.Generator().manual_seed(80)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(80)
    rows = tents()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    world = dist.get_world_size()
    print(rank)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        if rank == 0:
            torch.save(loss.item(), "loss0.pt")
        if rank in (0, -1):
            torch.save(loss.item(), "loss1.pt")
        if not rank:
            torch.save(loss.item(), "loss2.pt")
        if 0 <= rank < 1:
            torch.save(loss.item(), "loss3.pt")
        if int(os.environ.get("RANK", "0")) == 0:
            torch.save(loss.item(), "loss4.pt")
        if dist.get_world_size() - 1 == rank:
            torch.save(loss.item(), "loss5.pt")
        if not any([rank != 0, epoch == 5]):
            torch.save(loss.item(), "loss6.pt")
        if min(rank, 3) == 0:
            torch.save(loss.item(), "loss7.pt")
        if not bool(rank):
            torch.save(loss.item(), "loss8.pt")
        if f'{rank}' == '0':
            torch.save(loss.item(), "loss9.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
