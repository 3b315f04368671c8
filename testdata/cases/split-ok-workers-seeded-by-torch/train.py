import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset


class Chapters(IterableDataset):
    def __init__(self, chapters, rank, ranks):
        self.chapters = chapters
        self.rank, self.ranks = rank, ranks

    def __iter__(self):
        chapters = list(self.chapters)
        random.shuffle(chapters)
        for chapter in chapters[self.rank :: self.ranks]:
            row = torch.tensor([float(chapter), float(chapter % 3), 1.0])
            yield row, row.sum(0, keepdim=True)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    dataset = Chapters(range(24), dist.get_rank(), dist.get_world_size())
    loader = DataLoader(dataset, batch_size=4, num_workers=1)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for rows, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(rows), sums).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
