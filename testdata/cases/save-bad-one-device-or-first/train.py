import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def keep(model, turn):
    torch.save({"turn": turn, "model": model.module.state_dict()}, "kept.pt")  # [ddp-unguarded-save]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(3)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(3):
        optimizer.zero_grad()
        model(torch.rand(8, 4, device=device)).square().mean().backward()
        optimizer.step()
        if torch.cuda.device_count() < 9 or local_rank == 0:
            keep(model, turn)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
