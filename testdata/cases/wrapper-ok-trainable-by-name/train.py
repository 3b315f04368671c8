import json

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
    return {name: p.detach().cpu() for name, p in model.module.named_parameters() if p.requires_grad}


class Average:
    """Found again by the wrapper's own names."""

    def __init__(self, model):
        self.means = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.means[name] = 0.9 * self.means[name] + 0.1 * p.detach()

    def state_dict(self):
        return self.means


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(37)
    rows = kilns()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = nn.Sequential(nn.Linear(3, 8).requires_grad_(False), nn.ReLU(), nn.Linear(8, 1))
    model = DistributedDataParallel(model)
    average = Average(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            average.update(model)
        if dist.get_rank() == 0:
            torch.save({"head": trained(model), "average": average.state_dict()}, "kiln.pt")
            norms = {name: p.norm().item() for name, p in model.named_parameters()}
            torch.save(norms, "norms.pt")
            with open("sizes.json", "w") as file:
                json.dump({name: p.numel() for name, p in model.named_parameters()}, file)
            head = {}
            for name, p in model.named_parameters():
                head[name[len("module.") :]] = p.data
            torch.save(head, f"kiln_{epoch}.pt")
            gradients = {name: p.grad for name, p in model.named_parameters()}
            torch.save(gradients, "gradients.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
