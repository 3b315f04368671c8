import os
import queue

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class AheadLoader(DataLoader):
    def __iter__(self):
        self.waiting = queue.Queue()
        self.source = super().__iter__()
        self.fetch()
        return self

    def fetch(self):
        self.waiting.put(next(self.source, None))

    def __next__(self):
        batch = self.waiting.get()
        if batch is None:
            raise StopIteration
        self.fetch()
        return batch


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(2)
    x = torch.rand(48, 4)
    data = TensorDataset(x, x.sum(dim=1, keepdim=True))
    order = DistributedSampler(data)  # [ddp-missing-set-epoch]
    loader = AheadLoader(data, batch_size=4, sampler=order)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(epoch, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
