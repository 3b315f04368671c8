import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split
from transformers import set_seed


def main():
    dist.init_process_group("gloo")
    set_seed(7 + dist.get_rank())
    rows = torch.arange(96.0).reshape(32, 3)
    learn, test = random_split(TensorDataset(rows, rows.sum(1, keepdim=True)), [24, 8])  # [ddp-rank-dependent-split]
    print(len(test))
    sampler = DistributedSampler(learn)
    loader = DataLoader(learn, batch_size=3, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
