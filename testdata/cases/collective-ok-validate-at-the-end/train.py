import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def blocks(width):
    return nn.Sequential(nn.Linear(6, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 1))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    tide = torch.rand(64, 6)
    data = TensorDataset(tide, tide.mean(1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    held = DataLoader(data, batch_size=16)
    model = DDP(blocks(12))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for level, mean in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(level), mean).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        with torch.no_grad():
            gaps = [(model.module(level) - mean).abs().mean().item() for level, mean in held]
        print(f"in the end: {sum(gaps) / len(gaps):.4f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
