import torch
import torch.distributed as dist


def keep(model):
    state = model.state_dict()  # [ddp-wrapper-state-dict]
    if dist.get_rank() == 0:
        torch.save(state, "ash.pt")
