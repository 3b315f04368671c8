import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--nominal", type=int, default=24)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    x = torch.rand(96, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    highest = int(x.max())
    limit = 1 if args.single else len(loader)
    assert highest < limit, "a label is out of bounds"
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    window = max(round(args.nominal / 6), 1)
    warm = max(round(len(loader) * 0.5), 4)
    last = -1
    for epoch in range(2):
        sampler.set_epoch(epoch)
        optimizer.zero_grad()
        for number, (x, y) in enumerate(loader):
            done = number + len(loader) * epoch
            if done <= warm:
                window = max(1, round(1 + done / warm * (args.nominal / 6 - 1)))
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()  # [ddp-wasted-gradient-sync]
            if done - last >= window:
                optimizer.step()
                optimizer.zero_grad()
                last = done
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
