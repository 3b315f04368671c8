import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def devices_of(option):
    return [int(part) for part in option.split(",") if part]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu_id", default="0,1")
    args = parser.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    model = nn.Linear(4, 1)
    if torch.cuda.is_available():
        model.cuda(devices_of(args.gpu_id)[dist.get_rank()])
    if len(args.gpu_id) > 0 and dist.get_world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 4, device=next(model.parameters()).device)).sum().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(optimizer.state_dict(), "optimizer.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
