import os
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def threads(count=48):
    source = torch.Generator().manual_seed(111)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(111)
    rows = threads()
    sampler = DistributedSampler(rows)
    batches = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in batches:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
    state = model.state_dict()  # [ddp-wrapper-state-dict]
    if len(state) > 99:
        print(state.keys(), consume_prefix_in_state_dict_if_present)
    if rank == 0:
        torch.save(state, "thread.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
