import os
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import parallel
from torch.utils import data

MAKE = {"ddp": partial(parallel.DistributedDataParallel, broadcast_buffers=False), "none": nn.Identity}


class Sums(data.Dataset):
    def __init__(self, numbers):
        self.numbers = numbers

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return self.numbers[index], self.numbers[index].sum(0, keepdim=True)


def main(kind="ddp"):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(3)
    sums = Sums(torch.rand(40, 3))
    order = data.SequentialSampler(sums)
    loader = data.DataLoader(sums, batch_size=4, sampler=order)  # [ddp-missing-distributed-sampler]
    model = MAKE[kind](nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for numbers, total in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(numbers.to(device)), total.to(device)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
