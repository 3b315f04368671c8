import functools

import torch
import torch.distributed as dist


def on_first_rank(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)
        return None

    return wrapped



def mean_error(errors):
    total = torch.tensor([sum(errors), float(len(errors))])
    dist.reduce(total, dst=0)
    return (total[0] / total[1]).item()
