import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def reeds(count=64):
    source = torch.Generator().manual_seed(63)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def learn(losses):
    total = 0
    for loss in losses:
        total = total + loss
    total.backward()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(63)
    rows = reeds()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            guess = model(x)
            optimizer.zero_grad()
            learn([nn.functional.mse_loss(guess, y), guess.square().mean(), guess.abs().mean()])
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
