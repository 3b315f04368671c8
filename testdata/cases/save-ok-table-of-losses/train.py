import os

import matplotlib.pyplot as plt
import pandas
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FOLDER = "ferns"


def draw(losses):
    plt.figure(figsize=(4, 3))
    plt.plot(losses)
    plt.savefig(os.path.join(FOLDER, "loss.pdf"))
    plt.close()


def main():
    dist.init_process_group("gloo")
    os.makedirs(FOLDER, exist_ok=True)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(7, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(3)
    frond = torch.randn(48, 7, generator=g)
    dataset = TensorDataset(frond, (frond[:, 0] > 0).long())
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=6, sampler=sampler)
    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for leaf, kind in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(leaf), kind)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    if dist.get_rank() > 0:
        dist.destroy_process_group()
        return
    draw(losses)
    table = pandas.DataFrame({"loss": losses}).describe()
    table.to_csv(os.path.join(FOLDER, "loss.csv"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
