import argparse
import importlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nets", default="nets")
    parser.add_argument("--start")
    parser.add_argument("--wrapped", action="store_true")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(6)
    model = importlib.import_module(args.nets).build().to(device)
    if args.wrapped:
        model = DistributedDataParallel(model)
    if args.start:
        model.load_state_dict(torch.load(args.start, map_location=device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.rand(8, 4, device=device)), torch.ones(8, 1, device=device)).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "best.pth")  # [ddp-wrapper-state-dict]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
