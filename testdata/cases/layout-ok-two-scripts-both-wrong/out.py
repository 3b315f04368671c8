import torch
import torch.distributed as dist


def write_out(model):
    where = "out.pt"
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), where)
    dist.barrier()
