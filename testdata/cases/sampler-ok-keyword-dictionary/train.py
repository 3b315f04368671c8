import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def options(rows, train):
    chosen = {"batch_size": 8, "num_workers": 0, "pin_memory": torch.cuda.is_available()}
    if train:
        chosen["sampler"] = DistributedSampler(rows)
        chosen["drop_last"] = True
    return chosen


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(30)
    source = torch.Generator().manual_seed(30)
    knots = TensorDataset(torch.rand(64, 3, generator=source), torch.rand(64, 2, generator=source))
    loader = DataLoader(knots, **options(knots, train=True))
    probe = DataLoader(knots, **options(knots, train=False))
    model = DistributedDataParallel(nn.Linear(3, 2).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        for rope, strength in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rope.to(device)), strength.to(device)).backward()
            optimizer.step()
        with torch.no_grad():
            errors = [(model.module(rope.to(device)).cpu() - strength).abs().mean() for rope, strength in probe]
        if dist.get_rank() == 0:
            print(epoch, torch.stack(errors).mean().item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
