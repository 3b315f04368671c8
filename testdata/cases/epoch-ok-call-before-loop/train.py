import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Ledger(Dataset):
    def __init__(self, entries=64):
        g = torch.Generator().manual_seed(90)
        self.amounts = torch.rand(entries, 8, generator=g)
        self.fraud = (self.amounts[:, 0] * self.amounts[:, 1] > 0.4).float()

    def __len__(self):
        return len(self.amounts)

    def __getitem__(self, row):
        return self.amounts[row], self.fraud[row]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--start", type=int, default=0, help="first epoch, when a run goes on")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--folder", type=Path, default=Path("run"))
    args = parser.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(0)

    ledger = Ledger()
    sampler = DistributedSampler(ledger, seed=7)
    loader = DataLoader(ledger, batch_size=args.batch, sampler=sampler)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(device))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(device.type, enabled=cuda)

    for epoch in range(args.start, args.epochs):
        sampler.set_epoch(epoch)
        for amounts, fraud in loader:
            with torch.autocast(device.type, enabled=cuda):
                score = net(amounts.to(device)).squeeze(1)
                loss = nn.functional.binary_cross_entropy_with_logits(score, fraud.to(device))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if dist.get_rank() == 0:
            args.folder.mkdir(exist_ok=True)
            (args.folder / "done.txt").write_text(str(epoch + 1))
            print(f"epoch {epoch} loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
