import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset


class Several(Dataset):
    """One item is the next batch of one of several sets."""

    def __init__(self, sets):
        self.loaders = []
        self.order = []
        for rows in sets:
            self.loaders.append(DataLoader(rows, batch_size=6, shuffle=True))
            self.order += [len(self.loaders) - 1] * len(self.loaders[-1])
        self.iterators = [iter(loader) for loader in self.loaders]

    def __len__(self):
        return len(self.order)

    def __getitem__(self, number):
        return next(self.iterators[self.order[number]])


def rows_from(seed):
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    several = Several([rows_from(3), rows_from(4)])
    loader = DataLoader(several, batch_size=None, sampler=RandomSampler(several))  # [ddp-missing-distributed-sampler]
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
