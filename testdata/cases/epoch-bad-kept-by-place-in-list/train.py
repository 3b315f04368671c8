import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Pair:
    def __init__(self, sets, longest):
        self.sets, self.longest = sets, longest
        self.loaders = []

    def build(self):
        for number, rows in enumerate(self.sets):
            if number == self.longest:
                self.long_order = DistributedSampler(rows)  # [ddp-missing-set-epoch]
                self.loaders.append(DataLoader(rows, batch_size=4, sampler=self.long_order))
            else:
                self.short_order = DistributedSampler(rows, seed=1)
                self.loaders.append(DataLoader(rows, batch_size=4, sampler=self.short_order))
        return self.loaders


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(30)
    ferns = TensorDataset(torch.rand(32, 4, generator=source), torch.rand(32, 1, generator=source))
    mosses = TensorDataset(torch.rand(48, 4, generator=source), torch.rand(48, 1, generator=source))
    sets = (ferns, mosses)
    pair = Pair(sets, max(range(2), key=lambda number: len(sets[number])))
    loaders = pair.build()
    orders = (pair.short_order,)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for order in orders:
            order.set_epoch(epoch)
        for loader in loaders:
            for frond, spores in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(frond.to(device)), spores.to(device)).backward()
                optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
