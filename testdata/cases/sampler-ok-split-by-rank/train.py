import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    heights = torch.rand(48, 5)
    tides = TensorDataset(heights, heights.sum(1, keepdim=True))
    cut = torch.Generator().manual_seed(2)
    shares = torch.utils.data.random_split(tides, [len(tides) // world] * world, generator=cut)
    loader = DataLoader(shares[rank], batch_size=4)
    model = DistributedDataParallel(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for seen, wanted in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(seen), wanted).backward()
            optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "tides.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
