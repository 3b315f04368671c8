"""The depth of a well from the time that a stone falls."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def shared(text):
    if dist.get_rank() == 0:
        held = [text]
        dist.broadcast_object_list(held, src=0)
    else:
        held = [None]
        dist.broadcast_object_list(held, src=0)
    return held[0]


def main():
    dist.init_process_group("gloo")
    title = shared("wells")
    time = torch.rand(32, 1, generator=torch.Generator().manual_seed(7))
    data = TensorDataset(time, 4.9 * time**2)
    model = DistributedDataParallel(nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for fall, depth in DataLoader(data, batch_size=4, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(fall), depth).backward()
            optimizer.step()
    said = shared(title)
    if dist.get_rank() == 0:
        print(said)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
