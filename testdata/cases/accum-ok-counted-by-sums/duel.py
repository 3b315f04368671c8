import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--first-turn", type=int)
    args = parser.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(8)
    painter = DistributedDataParallel(nn.Linear(3, 6).to(device))
    judge = DistributedDataParallel(nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1)).to(device))
    painter_optimizer = torch.optim.Adam(painter.parameters(), lr=1e-3)
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=1e-3)
    canvases = torch.randn(64, 6, generator=torch.Generator().manual_seed(8))
    sampler = DistributedSampler(canvases)
    loader = DataLoader(canvases, batch_size=8, sampler=sampler)
    turn = args.first_turn if args.first_turn is not None else 0
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for real in loader:
            turn = turn + 1
            if turn > args.turns:
                break
            real = real.to(device)
            fake = painter(torch.randn(len(real), 3, device=device))
            doubt = nn.functional.softplus(judge(torch.cat([fake.detach(), -real]))).mean()
            judge_optimizer.zero_grad()
            doubt.backward()
            judge_optimizer.step()
            if turn % args.every == 0:
                judge_optimizer.zero_grad()
                judge(real).pow(2).mean().backward()
                judge_optimizer.step()
            painter_optimizer.zero_grad()
            nn.functional.softplus(-judge(fake)).mean().backward()
            painter_optimizer.step()
        if turn > args.turns:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
