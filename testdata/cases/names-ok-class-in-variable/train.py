import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Wrapper = nn.parallel.DistributedDataParallel
Loader = DataLoader
Share = torch.utils.data.distributed.DistributedSampler


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(3)
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    share = Share(rows)
    loader = Loader(rows, batch_size=4, sampler=share)
    model = Wrapper(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        share.set_epoch(epoch)
        for husk, grain in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(husk.to(device)), grain.to(device)).backward()
            optimizer.step()
        print(epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
