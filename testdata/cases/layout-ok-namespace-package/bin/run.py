"""Started as `torchrun bin/run.py` with the checkout on the path."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from volcano.feeds.ash import ash_loader
from volcano.out import keep


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(2)
    loader, sampler = ash_loader()
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for ash, depth in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(ash.to(device)), depth.to(device)).backward()
            optimizer.step()
    keep(model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
