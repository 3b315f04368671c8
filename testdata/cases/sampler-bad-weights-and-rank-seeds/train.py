import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(9)
    source = torch.Generator().manual_seed(9)
    pollen = TensorDataset(torch.rand(96, 7, generator=source), torch.randint(4, (96,), generator=source))
    model = DistributedDataParallel(nn.Linear(7, 4).to(device))
    own = torch.Generator().manual_seed(1000 + dist.get_rank())
    sampler = RandomSampler(pollen, generator=own)
    loader = DataLoader(pollen, batch_size=8, sampler=sampler)  # [ddp-missing-distributed-sampler]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for grain, plant in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(grain.to(device)), plant.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
