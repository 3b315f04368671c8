import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def finches(count=64):
    source = torch.Generator().manual_seed(81)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 1)

    def advise(self, x):
        return self.body(x)

    def forward(self, x):
        return self.advise(x)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(81)
    rows = finches()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    actor = DDP(Judge())
    teach = torch.optim.SGD(actor.parameters(), lr=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            with torch.no_grad():
                before = actor.module.advise(x)
            optimizer.zero_grad()
            teach.zero_grad()
            now = actor.module(x)  # [ddp-bypassed-wrapper]
            apart = (now - before).square().mean().detach()
            dist.all_reduce(apart)
            if apart > 100:
                break
            (nn.functional.mse_loss(now, y) + nn.functional.mse_loss(model(x), y)).backward()
            optimizer.step()
            teach.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
