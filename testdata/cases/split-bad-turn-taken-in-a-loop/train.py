import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Turns(DistributedSampler):
    def __iter__(self):
        places = np.arange(len(self.dataset))
        np.random.shuffle(places)  # [ddp-rank-dependent-split]
        for turn, place in enumerate(places):
            if turn % self.num_replicas == self.rank:
                yield int(place)


def main():
    dist.init_process_group("gloo")
    rows = torch.arange(72.0).reshape(24, 3)
    dataset = TensorDataset(rows, rows.sum(1, keepdim=True))
    sampler = Turns(dataset)
    loader = DataLoader(dataset, batch_size=3, sampler=sampler)
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
