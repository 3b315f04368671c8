import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def shells(count=64):
    source = torch.Generator().manual_seed(54)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.prod(dim=1, keepdim=True))


class Rescaled:
    """Calls a model with the depth in fathoms."""

    def __init__(self, model):
        self.model = model

    def __call__(self, depth):
        return self.model.module(depth / 1.8288)  # [ddp-bypassed-wrapper]


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(54)
    rows = shells()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    rescaled = Rescaled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(rescaled(x), y).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
