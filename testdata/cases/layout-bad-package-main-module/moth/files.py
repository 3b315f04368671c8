import torch
import torch.distributed as dist


def keep(model):
    if dist.get_world_size() > 0:
        torch.save(model.module.state_dict(), "moth.pt")  # [ddp-unguarded-save]
