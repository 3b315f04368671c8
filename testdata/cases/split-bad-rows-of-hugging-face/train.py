import torch
import torch.distributed as dist
from datasets import load_dataset
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main():
    dist.init_process_group("gloo")
    reviews = load_dataset("reviews", split="train").map(lambda row: {"size": len(row["text"])})
    parts = reviews.train_test_split(test_size=0.1)  # [ddp-rank-dependent-split]
    dataset = parts["train"].with_format("torch")
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=3, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(batch["rows"]), batch["sums"]).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
