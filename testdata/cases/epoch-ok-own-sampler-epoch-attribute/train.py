import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from ranks import EqualShares


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(13)
    source = torch.Generator().manual_seed(13)
    wool = torch.rand(60, 4, generator=source)
    bales = TensorDataset(wool, wool.mean(dim=1, keepdim=True))
    shares = EqualShares(len(bales))
    loader = DataLoader(bales, batch_size=6, sampler=shares)
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        shares.set_epoch(epoch)
        for wool, grade in loader:
            loss = (model(wool.to(device)) - grade.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(epoch, round(loss.item(), 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
