import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def pebbles(count=64):
    source = torch.Generator().manual_seed(52)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def learn(net, x, y, parts):
    nn.functional.mse_loss(net(x), y).div(parts).backward()


def main(parts=4):
    dist.init_process_group("gloo")
    torch.manual_seed(52)
    rows = pebbles()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    net = DDP(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            if i % parts != parts - 1:
                with net.no_sync():
                    learn(net, x, y, parts)
            else:
                learn(net, x, y, parts)
            if (i + 1) % parts == 0:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
