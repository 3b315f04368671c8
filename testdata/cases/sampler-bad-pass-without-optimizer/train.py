import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def rows(count):
    source = torch.Generator().manual_seed(count)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def one_pass(model, loader, device, optimizer=None):
    """Go over the loader once; learn where an optimizer is given."""
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    train_rows, test_rows = rows(64), rows(16)
    order = DistributedSampler(train_rows)
    train_loader = DataLoader(train_rows, batch_size=8, sampler=order)
    test_loader = DataLoader(test_rows, batch_size=8)  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        order.set_epoch(epoch)
        one_pass(model, train_loader, device, optimizer)
        error = one_pass(model, test_loader, device, optimizer)
        print(f"rank {rank} of {world}: {error:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
