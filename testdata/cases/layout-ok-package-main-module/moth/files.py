import torch
import torch.distributed as dist


def keep(model):
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "moth.pt")
