import torch
import torch.distributed as dist

import ants


def keep(model):
    rank = dist.get_rank()
    if rank == 0:
        torch.save(model.module.state_dict(), ants.NAME)
