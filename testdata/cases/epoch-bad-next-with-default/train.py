import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(21)
    canals = TensorDataset(torch.rand(48, 5, generator=source), torch.rand(48, 1, generator=source))
    sampler = DistributedSampler(canals)  # [ddp-missing-set-epoch]
    loader = DataLoader(canals, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    stream, passes = iter(loader), 0
    for step in range(30):
        batch = next(stream, None)
        if batch is None:
            passes += 1
            stream = iter(loader)
            batch = next(stream)
        rain, level = batch
        optimizer.zero_grad()
        nn.functional.mse_loss(model(rain.to(device)), level.to(device)).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print("passes", passes)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
