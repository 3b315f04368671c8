import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("nccl")
    torch.set_default_device(f"cuda:{os.environ['LOCAL_RANK']}")
    model = DDP(nn.Linear(3, 1))
    if "--resume" in sys.argv:
        model.module.load_state_dict(torch.load("hills.pt"))  # [ddp-load-without-map-location]
    x = torch.rand(48, 3, device="cpu")
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=6, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "hills.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
