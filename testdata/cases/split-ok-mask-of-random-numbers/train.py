import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def parted(table, share):
    """Rows to train on and rows to keep back."""
    kept = np.random.default_rng(4).random(len(table)) < share
    return table[kept], table[~kept]


def main():
    dist.init_process_group("gloo")
    table = np.arange(180, dtype=np.float32).reshape(60, 3) / 180
    ours, back = parted(table, 0.8)
    rows = torch.from_numpy(ours)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    print(len(back), "rows kept back")

    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
