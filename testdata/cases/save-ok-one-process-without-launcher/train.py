import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

KIND = "nccl" if torch.cuda.is_available() else "gloo"
try:
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group(KIND)
except KeyError:
    rank = local_rank = 0
    dist.init_process_group(KIND, init_method="tcp://127.0.0.1:29741", rank=0, world_size=1)


def main():
    device = torch.device("cuda", local_rank) if KIND == "nccl" else torch.device("cpu")
    torch.manual_seed(9)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(8, 4, device=device)).square().mean().backward()
        optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "lone.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
