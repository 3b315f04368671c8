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


class NoTargetsError(ValueError):
    """There is nothing to learn from a batch."""


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(8, 1)

    def forward(self, inputs, targets):
        if not (targets > 0).any():
            raise NoTargetsError
        return nn.functional.mse_loss(self.part(inputs), targets)


model = DistributedDataParallel(Network())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        lacking = torch.zeros(1)
        loss = None
        try:
            loss = model(inputs, targets)
        except NoTargetsError:
            lacking += 1
        dist.all_reduce(lacking)
        if lacking > 0:
            continue
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
