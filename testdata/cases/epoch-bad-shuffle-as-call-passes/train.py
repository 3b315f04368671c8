import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def bees(count, seed):
    source = torch.Generator().manual_seed(seed)
    hive = torch.rand(count, 6, generator=source)
    return TensorDataset(hive, hive.sum(dim=1, keepdim=True))


def shared_loader(rows, shuffle=False):
    sampler = DistributedSampler(rows, shuffle=shuffle)  # [ddp-missing-set-epoch]
    return DataLoader(rows, batch_size=8, sampler=sampler)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    train = shared_loader(bees(64, 1), shuffle=True)
    held = shared_loader(bees(16, 2))
    model = DistributedDataParallel(nn.Linear(6, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for hive, honey in train:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(hive.to(device)), honey.to(device)).backward()
            optimizer.step()
        with torch.inference_mode():
            miss = sum((model.module(hive.to(device)).cpu() - honey).abs().sum() for hive, honey in held)
        print(f"rank {dist.get_rank()} epoch {epoch}: {miss.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
