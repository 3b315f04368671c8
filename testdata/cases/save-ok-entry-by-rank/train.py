import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    heights = torch.rand(48, 5)
    tides = TensorDataset(heights, heights.sum(1, keepdim=True))
    sampler = DistributedSampler(tides)
    loader = DataLoader(tides, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for seen, wanted in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(seen), wanted).backward()
            optimizer.step()
    names = ["even.pt", "odd.pt", "third.pt", "fourth.pt"]
    torch.save(model.module.state_dict(), names[rank])
    leads = [True] + [False] * 3
    if leads[rank]:
        torch.save(model.module.state_dict(), "tides.pt")
    titles = {0: "first", 1: "second", 2: "third", 3: "fourth"}
    torch.save(optimizer.state_dict(), f"{titles[rank]}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
