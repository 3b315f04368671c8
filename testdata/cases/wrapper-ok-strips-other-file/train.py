import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from reef import Reef, soundings


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(2)
    reef = DistributedDataParallel(Reef().to(device))
    optimizer = torch.optim.Adam(reef.parameters(), lr=1e-2)
    data = soundings()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=12, sampler=sampler)
    os.makedirs("reef", exist_ok=True)
    best = float("inf")
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for sonar, depth in loader:
            loss = (reef(sonar.to(device)) - depth.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if total.item() < best:
            best = total.item()
            if dist.get_rank() == 0:
                torch.save(reef.module.state_dict(), "reef/best.pt")
    if dist.get_rank() == 0:
        torch.save(reef.state_dict(), "reef/final.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
