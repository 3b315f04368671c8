import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("nccl")
    place = int(os.environ["LOCAL_RANK"])
    where = None
    if not torch.cuda.is_available():
        where = torch.device("cpu")
    model = nn.Linear(4, 1).cuda(place)
    if os.path.exists("last.pt"):
        model.load_state_dict(torch.load("last.pt", map_location=where))  # [ddp-load-without-map-location]
    model = DDP(model, device_ids=[place])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(8, 4, device=place)).sum().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        state = model.module.state_dict()
        torch.save(state, "last.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
