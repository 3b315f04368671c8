import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Redundancy(nn.Module):
    """Two views of a sample shall agree in each feature, and in no two different ones."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(6, width)
        self.norm = nn.BatchNorm1d(width, affine=False)

    def forward(self, first, second):
        table = self.norm(self.body(first)).T @ self.norm(self.body(second))
        table /= len(first)
        whole = table.detach().clone()
        dist.all_reduce(whole)
        self.last = whole.diagonal().pow(2).mean()
        same = torch.diagonal(table)
        other = table - torch.diag(same)
        return (same - 1).pow(2).sum() + 0.01 * other.pow(2).sum()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    data = TensorDataset(torch.randn(64, 6))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DistributedDataParallel(Redundancy(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (rows,) in loader:
            optimizer.zero_grad()
            loss = model(rows, rows + 0.1 * torch.randn_like(rows))
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
