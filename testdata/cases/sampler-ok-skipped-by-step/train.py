import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(2)
    source = torch.Generator().manual_seed(2)
    loaves = TensorDataset(torch.rand(64, 4, generator=source), torch.rand(64, 1, generator=source))
    order = torch.Generator().manual_seed(40)
    loader = DataLoader(loaves, batch_size=4, shuffle=True, generator=order)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, (dough, rise) in enumerate(loader):
        if number % world != rank:
            continue
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(dough.to(device)), rise.to(device))
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"{number} of {len(loader)}, {world} ranks: {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
