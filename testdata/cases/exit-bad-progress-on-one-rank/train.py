import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from tqdm import tqdm


def tides(count=64):
    source = torch.Generator().manual_seed(17)
    moon = torch.rand(count, 6, generator=source)
    return TensorDataset(moon, moon.sum(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    rows = tides()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    epochs = tqdm(range(2)) if rank == 0 else range(2)
    for epoch in epochs:
        sampler.set_epoch(epoch)
        batches = loader
        if rank == 0:
            batches = tqdm(batches, leave=False)
        for moon, height in batches:
            loss = nn.functional.mse_loss(model(moon), height)
            if torch.isnan(loss):
                continue  # [ddp-rank-local-exit]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
