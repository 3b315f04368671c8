"""Learn the height of the tide at one harbour from that at another."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from tides import duties, writes_here


def main():
    dist.init_process_group("gloo")
    heights = TensorDataset(torch.randn(96, 6), torch.randn(96, 1))
    sampler = DistributedSampler(heights)
    loader = DataLoader(heights, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for here, there in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(here), there).backward()
            optimizer.step()
        if writes_here():
            torch.save(net.module.state_dict(), f"tide_{epoch}.pt")  # [ddp-unguarded-save]
    if not duties.holds_the_pen():
        return
    torch.save(net.module.state_dict(), "tide.pt")  # [ddp-unguarded-save]


main()
