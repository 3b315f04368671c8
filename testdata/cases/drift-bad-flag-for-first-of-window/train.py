import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def grains(count=64):
    source = torch.Generator().manual_seed(31)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


class Fitter:
    def __init__(self, net, gather):
        self.net, self.gather = net, gather
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    def run(self, loader):
        for count, (x, y) in enumerate(loader, 1):
            self.net.require_backward_grad_sync = count % self.gather == 1  # [ddp-unsynchronized-step]
            nn.functional.mse_loss(self.net(x), y).div(self.gather).backward()
            if count % self.gather == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(31)
    rows = grains()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    fitter = Fitter(DDP(nn.Linear(4, 1)), gather=4)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        fitter.run(loader)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
