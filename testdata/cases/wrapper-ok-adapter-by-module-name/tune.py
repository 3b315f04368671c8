import torch
import torch.distributed as dist
from adapters import Adapted, store_adapters, store_norms
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def looms(count=48):
    source = torch.Generator().manual_seed(31)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(31)
    rows = looms()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = nn.Sequential(Adapted(4), nn.ReLU(), Adapted(4), nn.Linear(4, 1))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            store_adapters(model, "adapters.pt")
            store_norms(model, "norms.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
