import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def mean_over_ranks(value, ranks):
    whole = value.clone()
    dist.all_reduce(whole, op=dist.ReduceOp.SUM)  # [ddp-collective-in-loss]
    whole /= ranks
    return whole


def work(rank):
    ranks = torch.cuda.device_count()
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(ranks)
    dist.init_process_group("nccl", init_method="env://")
    rows = torch.rand(64, 5)
    data = TensorDataset(rows, rows.mean(dim=1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(5, 1).cuda(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda(rank)), y.cuda(rank))
            loss = mean_over_ranks(loss, ranks)
            loss.backward()
            optimizer.step()


def main():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "23457")
    mp.spawn(work, nprocs=torch.cuda.device_count())


if __name__ == "__main__":
    main()
