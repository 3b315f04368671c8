import torch.distributed as dist

from solver import Solver

if __name__ == "__main__":
    dist.init_process_group("gloo")
    Solver(turn=3).fit(6)
    dist.destroy_process_group()
