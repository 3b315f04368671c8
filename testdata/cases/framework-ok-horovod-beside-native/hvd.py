import horovod.torch as hvd
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from native import rows


def main():
    hvd.init()
    data = rows()
    net = nn.Linear(3, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters())
    hvd.broadcast_parameters(net.state_dict(), root_rank=0)
    sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
    torch.save(net.state_dict(), "hvd.pt")


if __name__ == "__main__":
    main()
