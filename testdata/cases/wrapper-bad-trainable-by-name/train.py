import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def kilns(count=48):
    source = torch.Generator().manual_seed(37)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def trained(model):
    return {name: p.detach().cpu() for name, p in model.named_parameters() if p.requires_grad}  # [ddp-wrapper-state-dict]


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(37)
    rows = kilns()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = nn.Sequential(nn.Linear(3, 8).requires_grad_(False), nn.ReLU(), nn.Linear(8, 1))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save({"head": trained(model), "epoch": epoch}, "kiln.pt")
            head = {}
            for name, p in model.named_parameters():  # [ddp-wrapper-state-dict]
                head[str(name)] = p.data
            torch.save(head, f"kiln_{epoch}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
