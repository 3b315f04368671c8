import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def stage(rows, stage_number):
    sampler = DistributedSampler(rows, seed=11 + stage_number)
    return DataLoader(rows, batch_size=4 * (stage_number + 1), sampler=sampler)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(4)
    source = torch.Generator().manual_seed(4)
    tides = torch.randn(64, 3, generator=source)
    rows = TensorDataset(tides, tides.sum(dim=1, keepdim=True))
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for number in range(3):
        for tide, height in stage(rows, number):
            optimizer.zero_grad()
            nn.functional.l1_loss(model(tide.to(device)), height.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
