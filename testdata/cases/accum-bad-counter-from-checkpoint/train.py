import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PARTS = 4


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(7)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    done = 0
    if os.path.exists("state.pt"):
        state = torch.load("state.pt", map_location=device)
        done = state["done"]
        model.module.load_state_dict(state["model"])
    for _ in range(12):
        done += 1
        loss = model(torch.rand(8, 4, device=device)).square().mean() / PARTS
        loss.backward()  # [ddp-wasted-gradient-sync]
        if done % PARTS == 0:
            optimizer.step()
            optimizer.zero_grad()
    if dist.get_rank() == 0:
        torch.save({"done": done, "model": model.module.state_dict()}, "state.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
