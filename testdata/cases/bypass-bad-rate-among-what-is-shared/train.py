import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def shells(count=64):
    source = torch.Generator().manual_seed(51)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.prod(dim=1, keepdim=True))


class Meters:
    """Sums of what is shown, which the ranks put together at the end of an epoch."""

    def __init__(self):
        self.sums = {}
        self.count = 0

    def update(self, **shown):
        self.count += 1
        for name, value in shown.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def together(self):
        for name, total in self.sums.items():
            both = torch.tensor([total, self.count], dtype=torch.float64)
            dist.all_reduce(both)
            self.sums[name] = (both[0] / both[1]).item()
        return self.sums


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(51)
    rows = shells()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        meters = Meters()
        for x, y in loader:
            loss = nn.functional.mse_loss(model.module(x), y)  # [ddp-bypassed-wrapper]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meters.update(loss=loss.item(), lr=optimizer.param_groups[0]["lr"])
        print(meters.together())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
