import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def weather(count=60):
    generator = torch.Generator().manual_seed(17)
    past = torch.randn(count, 7, generator=generator)
    return TensorDataset(torch.arange(count), past, past.mean(dim=1))


def forecasts(sky, loader, folder, device):
    sky.eval()
    with torch.no_grad():
        for day, past, _ in loader:
            np.save(folder / f"forecast-{int(day[0])}.npy", sky(past.to(device)).cpu().numpy())


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(3)
    sky = DistributedDataParallel(nn.Linear(7, 1).to(device))
    optimizer = torch.optim.SGD(sky.parameters(), lr=0.1)
    data = weather()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=6, sampler=sampler)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for _, past, tomorrow in loader:
            loss = (sky(past.to(device)).squeeze(1) - tomorrow.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    folder = Path("forecasts")
    folder.mkdir(exist_ok=True)
    forecasts(sky.module, loader, folder, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
