import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def fit(epoch):
    sampler.set_epoch(epoch)
    total = 0.0
    for spectrum, grade in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(spectrum), grade)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def check(epoch):
    global lowest
    missed = sum((plain(spectrum).argmax(dim=1) != grade).sum().item() for spectrum, grade in held)
    if missed < lowest:
        lowest = missed
        torch.save(plain.state_dict(), os.path.join(folder, "lowest.pt"))  # [ddp-unguarded-save]
    return missed


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = "kernels"
    os.makedirs(folder, exist_ok=True)
    lowest = math.inf
    g = torch.Generator().manual_seed(2)
    spectra = torch.randn(128, 20, generator=g)
    grades = (spectra[:, :3].sum(dim=1) > 0).long()
    dataset = TensorDataset(spectra[:96], grades[:96])
    held = DataLoader(TensorDataset(spectra[96:], grades[96:]), batch_size=16)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=12, sampler=sampler)
    torch.manual_seed(7)
    plain = nn.Linear(20, 2)
    model = DDP(plain)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        loss = fit(epoch)
        missed = check(epoch)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}")
            torch.save(plain.state_dict(), os.path.join(folder, f"epoch_{epoch}.pt"))
    dist.destroy_process_group()
