import json
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WORDS = pathlib.Path("words.json")
TEXT = "the rain in the plain is the rain in spain".split()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0:
        with open(WORDS, "w") as file:
            json.dump(sorted(set(TEXT)), file)
    dist.barrier()
    words = json.loads(WORDS.read_text())
    index = {word: number for number, word in enumerate(words)}
    rows = torch.tensor([[float(index[word])] for word in TEXT * 4])
    data = TensorDataset(rows, rows * 2)
    sampler = DistributedSampler(data, shuffle=False)
    model = DistributedDataParallel(nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in DataLoader(data, batch_size=5, sampler=sampler):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
