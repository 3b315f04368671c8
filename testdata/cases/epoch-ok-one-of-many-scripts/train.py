import os

import torch
import torch.distributed as dist

from common import fit, loader_over, network, rows


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    fit(network(device, True), loader_over(rows(3), True), 3, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
