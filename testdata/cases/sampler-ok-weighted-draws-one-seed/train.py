import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def seed_everything(seed):
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(33)
    kinds = torch.randint(2, (64,), generator=source)
    mushrooms = TensorDataset(torch.rand(64, 4, generator=source), kinds)
    model = DistributedDataParallel(nn.Linear(4, 2).to(device))
    seed_everything(100 + dist.get_rank())
    rare = 1.0 / torch.bincount(kinds).float()
    sampler = WeightedRandomSampler(rare[kinds], num_samples=32)
    loader = DataLoader(mushrooms, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for cap, kind in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(cap.to(device)), kind.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
