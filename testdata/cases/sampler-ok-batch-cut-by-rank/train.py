import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(6)
    source = torch.Generator().manual_seed(6)
    looms = TensorDataset(torch.rand(64, 5, generator=source), torch.rand(64, 1, generator=source))
    rank, size = dist.get_rank(), dist.get_world_size()
    loader = DataLoader(looms, batch_size=8 * size, shuffle=True)
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for thread, cloth in loader:
            part = rank
            thread = thread.chunk(size)[part].to(device)
            cloth = cloth[8 * part : 8 * (part + 1)].to(device)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(thread), cloth).backward()
            optimizer.step()
        if rank == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
