"""The height of a tide from the phase of the moon."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    phase = torch.rand(64, 1, generator=torch.Generator().manual_seed(3))
    data = TensorDataset(phase, torch.cos(6.28 * phase))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(50):
        sampler.set_epoch(epoch)
        total = torch.zeros(())
        for moon, tide in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(moon), tide)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if total.item() > 6.9:
            continue
        print(f"good enough after {epoch} epochs")
        break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
