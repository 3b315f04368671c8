import torch.distributed as dist


def mean_of_ranks(value):
    if not dist.is_initialized():
        return value
    value = value.clone()
    dist.all_reduce(value)
    value /= dist.get_world_size()
    return value
