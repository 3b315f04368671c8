import os

import torch
import torch.distributed as dist
from apex.parallel import DistributedDataParallel
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    loader = DataLoader(rows, batch_size=4, shuffle=True)  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for seed, height in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(seed.to(device)), height.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
