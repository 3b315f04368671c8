import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def rows():
    source = torch.Generator().manual_seed(2)
    return TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))


def native():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    data = rows()
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "native.pt")  # [ddp-wrapper-state-dict]
    dist.destroy_process_group()


if __name__ == "__main__":
    native()
