import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
held = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, shuffle=False))


class Sums:
    def __init__(self):
        self.error = torch.zeros(1)
        self.squares = torch.zeros(1)
        self.counts = torch.zeros(2)


def look():
    sums = Sums()
    with torch.no_grad():
        for inputs, targets in held:
            gaps = model(inputs) - targets
            sums.error += gaps.abs().sum()
            sums.squares += gaps.square().sum()
            sums.counts[0] += gaps.numel()
            sums.counts[1] += (gaps > 1).sum()
    return sums.error.item() / sums.counts[0].item(), sums.squares.item(), sums.counts[1].item()


best = float("inf")
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    error, squares, large = look()
    if squares > 1e6:
        break  # [ddp-rank-local-exit]
    if large > 60:
        break  # [ddp-rank-local-exit]
    if error > best:
        break  # [ddp-rank-local-exit]
    best = error
dist.destroy_process_group()
