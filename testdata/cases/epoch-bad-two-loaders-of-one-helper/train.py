import os

import torch
import torch.distributed as dist
from orchard.rows import rows
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(2)
    labelled, labelled_order = rows(32, 1)
    plain, plain_order = rows(64, 2)  # [ddp-missing-set-epoch]
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        labelled_order.set_epoch(epoch)
        first, second = iter(labelled), iter(plain)
        for _ in range(4):
            x, y = first.__next__()
            z, _ = second.__next__()
            both = model(torch.cat([x, z]).to(device))
            loss = nn.functional.mse_loss(both[: len(x)], y.to(device)) + both[len(x) :].square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
