import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    source = torch.Generator().manual_seed(12)
    ropes = TensorDataset(torch.rand(64, 3, generator=source), torch.rand(64, 1, generator=source))
    sampler = DistributedSampler(ropes)  # [ddp-missing-set-epoch]
    loader = DataLoader(ropes, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for fibre, strength in loader:

            def closure():
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(fibre.to(device)), strength.to(device))
                loss.backward()
                return loss

            optimizer.step(closure)
        if dist.get_rank() == 0:
            print("epoch", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
