import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Judged(nn.Module):
    """Lets the wrapper's forward call another method of a policy."""

    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, seen):
        return self.policy.judge(seen)


def learn(policy, batches, device):
    judged = DDP(Judged(policy), device_ids=[device])
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for seen in batches:
        optimizer.zero_grad()
        judged(seen).mean().backward()
        optimizer.step()


def begin():
    dist.init_process_group("nccl")
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
