import torch
import torch.distributed as dist


def write_out(model):
    where = "out.pt"
    torch.save(model.module.state_dict(), where)  # [ddp-unguarded-save]
    dist.barrier()
