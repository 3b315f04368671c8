import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def sluices(count=48):
    source = torch.Generator().manual_seed(41)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(41)
    rows = sluices()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        summed = {key + "_mean": value for key, value in model.state_dict().items()}  # [ddp-wrapper-state-dict]
        torch.save(summed, "summed.pt")
        marked = {f"{key}.mean": value for key, value in model.state_dict().items()}  # [ddp-wrapper-state-dict]
        torch.save(marked, "marked.pt")
        filled = {"%s.mean" % key: value for key, value in model.state_dict().items()}  # [ddp-wrapper-state-dict]
        torch.save(filled, "filled.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
