"""The weight of a stone from its edges."""
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def kept(path, data):
    with nullcontext():
        if not os.path.exists(path):
            torch.save(data.tensors, path)  # [ddp-unguarded-save]
        with open(f"{path}.note", "w") as note:  # [ddp-unguarded-save]
            note.write("made by a rank")
    return TensorDataset(*torch.load(path))


def main():
    dist.init_process_group("gloo")
    edges = torch.rand(32, 3, generator=torch.Generator().manual_seed(4))
    data = TensorDataset(edges, 2.7 * edges.prod(dim=1, keepdim=True))
    data = kept("stones.pt", data)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for edge, weight in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(edge), weight).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
