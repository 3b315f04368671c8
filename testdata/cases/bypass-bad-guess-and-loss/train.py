import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Layer(nn.Module):
    def __init__(self, measure):
        super().__init__()
        self.measure = measure
        self.body = nn.Linear(4, 1)

    def forward(self, peat):
        return self.body(peat)

    def loss(self, guess, carbon):
        return self.measure(guess, carbon)


def bogs(count=64):
    source = torch.Generator().manual_seed(8)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.amax(dim=1, keepdim=True))


def inside(model):
    return model.module if isinstance(model, DDP) else model


def train(model, loader, optimizer):
    model = inside(model)
    for peat, carbon in loader:
        optimizer.zero_grad()
        guess = model(peat)  # [ddp-bypassed-wrapper]
        loss = model.loss(guess, carbon)
        loss.backward()
        optimizer.step()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    rows = bogs()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(Layer(nn.MSELoss()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        train(model, loader, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
