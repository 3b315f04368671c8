import os

import torch
import torch.distributed as dist
from torch import nn

from glacier import *

try:
    from fast_table import write_table
except ImportError:
    from slow_table import write_table


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(2)
    loader, sampler = ice_loader()
    model = Replica(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for ice, flow in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(ice.to(device)), flow.to(device))
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    write_table(losses)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
