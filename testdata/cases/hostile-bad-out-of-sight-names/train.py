import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


class Kit:
    pass


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(3)
    kit = Kit()
    source = torch.Generator().manual_seed(2)
    rows = TensorDataset(torch.rand(40, 3, generator=source), torch.rand(40, 1, generator=source))
    kit.loader = DataLoader(rows, batch_size=4, shuffle=True)  # [ddp-missing-distributed-sampler]
    kit.model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(kit.model.parameters(), lr=0.1)
    name = "loader"
    for x, y in getattr(kit, name):
        optimizer.zero_grad()
        nn.functional.mse_loss(kit.model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
