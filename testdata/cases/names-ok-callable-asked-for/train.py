import os
from typing import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Scorer(nn.Module):
    def __init__(self, loss, model):
        super().__init__()
        self.model = model.cuda() if torch.cuda.is_available() else model
        if isinstance(loss, Callable):
            self.loss = loss
        else:
            raise TypeError(loss)

    def forward(self, x):
        return self.loss(self.model(x), torch.ones(len(x), 1, device=x.device))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    scorer = Scorer(nn.MSELoss(), DistributedDataParallel(nn.Linear(4, 1).to(device)))
    optimizer = torch.optim.SGD(scorer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        scorer(torch.rand(8, 4, device=device)).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(scorer.model.module.state_dict(), "scorer.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
