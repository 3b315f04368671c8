import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows.pt")


def rows(rank):
    if rank == 0 and not os.path.exists(PLACE):
        source = torch.Generator().manual_seed(1)
        torch.save({"soil": torch.rand(80, 6, generator=source), "yield": torch.rand(80, 1, generator=source)}, PLACE)
    dist.barrier()
    return torch.load(PLACE)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if cuda else "cpu")
    data = rows(rank)
    soil, harvest = data["soil"].to(device), data["yield"].to(device)
    soil = (soil - soil.mean(0)) / (soil.std(0) + 1e-8)
    order = torch.randperm(len(harvest), generator=torch.Generator().manual_seed(4))
    kept = order[: int(len(harvest) * 0.8)]
    plots = TensorDataset(soil[kept], harvest[kept])
    loader = DataLoader(plots, batch_size=8, shuffle=True)  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(nn.Linear(6, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for ground, crop in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(ground), crop).backward()
            optimizer.step()
        if rank == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
