import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from shelf import put


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(3)
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if dist.get_rank() == 0:
        put(model.module, "start", depth=1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        put(model.module, "end", depth=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
