import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(17)
    moths = TensorDataset(torch.rand(64, 5, generator=source), torch.rand(64, 1, generator=source))
    mine = Subset(moths, range(dist.get_rank(), len(moths), dist.get_world_size()))
    loader = DataLoader(mine, batch_size=8, shuffle=True)
    model = DistributedDataParallel(nn.Linear(5, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for wing, weight in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(wing.to(device)), weight.to(device)).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
