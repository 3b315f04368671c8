import os
import queue
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def fill(loader, waiting):
    for batch in loader:
        waiting.put(batch)
    waiting.put(None)


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    x = torch.rand(60, 4, generator=torch.Generator().manual_seed(3))
    rows = TensorDataset(x, x.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)  # [ddp-missing-set-epoch]
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        waiting = queue.Queue(4)
        threading.Thread(target=fill, args=(loader, waiting)).start()
        for x, y in iter(waiting.get, None):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
            optimizer.step()
        print(epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
