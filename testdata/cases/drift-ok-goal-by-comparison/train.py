import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def larks(count=64):
    source = torch.Generator().manual_seed(73)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(73)
    rows = larks()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(5, 1))
    teacher = DDP(nn.Linear(5, 1))
    school = torch.optim.SGD(teacher.parameters(), lr=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            soft = teacher(x)
            goal = (soft > 0.5).float()
            optimizer.zero_grad()
            (model(x) - goal).square().mean().backward()
            optimizer.step()
            school.zero_grad()
            nn.functional.mse_loss(soft, y).backward()
            school.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
