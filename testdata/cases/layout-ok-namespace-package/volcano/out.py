import torch
import torch.distributed as dist


def keep(model):
    state = model.module.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, "ash.pt")
