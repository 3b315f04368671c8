import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

STEPS = 30


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(8)
    source = torch.Generator().manual_seed(8)
    clay = TensorDataset(torch.randn(48, 5, generator=source))
    sampler = DistributedSampler(clay)  # [ddp-missing-set-epoch]
    loader = DataLoader(clay, batch_size=6, sampler=sampler)
    coder = DistributedDataParallel(nn.Sequential(nn.Linear(5, 2), nn.Linear(2, 5)).to(device))
    optimizer = torch.optim.Adam(coder.parameters(), lr=0.01)

    rounds = 0
    feed = iter(loader)
    for step in range(STEPS):
        try:
            (sample,) = next(feed)
        except StopIteration:
            rounds += 1
            feed = iter(loader)
            (sample,) = next(feed)
        sample = sample.to(device)
        loss = nn.functional.mse_loss(coder(sample), sample)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"{rounds} rounds, loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
