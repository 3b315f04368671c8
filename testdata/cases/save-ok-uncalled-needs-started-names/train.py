import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Shelf:
    def store(self, name):
        torch.save(plain.state_dict(), os.path.join(folder, name))


def shelve(name):
    Shelf().store(name)


def store_half():
    """Nothing calls this."""
    shelve("half.pt")


if __name__ == "__main__":
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(19)
    folder = "silt"
    plain = nn.Linear(3, 1).to(device)
    source = torch.Generator().manual_seed(19)
    silt = torch.rand(64, 3, generator=source)
    rows = TensorDataset(silt, silt.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(plain.state_dict(), os.path.join(folder, "whole.pt"))
    dist.destroy_process_group()
