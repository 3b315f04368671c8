import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def slips(count=48):
    source = torch.Generator().manual_seed(23)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--two", action="store_true")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(23)
    kinds = os.environ.get("KINDS", "low,high").split(",")
    rows = slips()
    count = 2 if options.two else len(kinds)
    names = kinds[:2] if options.two else kinds
    assert int(rows.tensors[1].max()) < count, "a mark without a kind"
    assert len(names) == count, "a kind without a name"
    assert count < len(rows), "too few rows"
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    last = -1
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, (x, y) in enumerate(loader):
            now = number + len(loader) * epoch
            every = max(1, min(options.every, now)) if now < 4 or options.slow else options.every
            due = now - last >= every
            with contextlib.nullcontext() if due else model.no_sync():
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
                loss.backward()
            if due:
                optimizer.step()
                optimizer.zero_grad()
                last = now
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
