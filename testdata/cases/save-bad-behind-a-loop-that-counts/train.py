"""The pull of a spring from its stretch, for a fixed number of passes that a loop counts."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    stretch = torch.rand(32, 1, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(stretch, 3 * stretch)
    model = DistributedDataParallel(nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    epoch = 0
    while epoch < 2:
        sampler.set_epoch(epoch)
        for length, pull in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(length), pull).backward()
            optimizer.step()
        epoch += 1
    torch.save(model.module.state_dict(), "spring.pt")  # [ddp-unguarded-save]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
