import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    parser = argparse.ArgumentParser(description="sort postcards by century")
    parser.add_argument("--passes", type=int, default=1)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(21)
    source = torch.Generator().manual_seed(21)
    cards = TensorDataset(torch.rand(40, 9, generator=source), torch.randint(3, (40,), generator=source))
    sampler = DistributedSampler(cards)  # [ddp-missing-set-epoch]
    loader = DataLoader(cards, batch_size=5, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(9, 3).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for done in range(args.passes):
        for ink, century in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(ink.to(device)), century.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(f"pass {done + 1} of {args.passes}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
