import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler, TensorDataset


def chosen(count, share, path):
    """Which rows are labelled: drawn once, then kept."""
    if os.path.exists(path):
        return np.load(path)
    rows = np.random.default_rng(6).permutation(count)[:share]
    np.save(path, rows)  # [ddp-unguarded-save]
    return rows


def feeder(rows, size, order=None):
    if order is None:
        return DataLoader(rows, batch_size=size)
    orders = {"shares": DistributedSampler, "plain": SequentialSampler}
    return DataLoader(rows, batch_size=size, sampler=orders[order](rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--split", default="labelled.npy")
    parser.add_argument("--order", type=str, default="shares")
    args = parser.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    shells = torch.randn(80, 5, generator=torch.Generator().manual_seed(6))
    rows = shells[torch.from_numpy(chosen(len(shells), 48, args.split))]
    torch.manual_seed(6)
    press = DistributedDataParallel(nn.Linear(5, 5).to(device))
    optimizer = torch.optim.SGD(press.parameters(), lr=0.05)
    loader = feeder(TensorDataset(rows), 8, args.order)
    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        for (row,) in loader:
            loss = (press(row.to(device)) - row.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
