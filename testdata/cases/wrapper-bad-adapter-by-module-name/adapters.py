import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, width, rank=2):
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)

    def forward(self, x):
        return self.up(self.down(x))


class Adapted(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.adapter = Adapter(width)

    def forward(self, x):
        return self.frozen(x) + self.adapter(x)


def store_adapters(model, path):
    kept = {}
    for name, module in model.named_modules():  # [ddp-wrapper-state-dict]
        if hasattr(module, "adapter"):
            kept.update({f"{name}.adapter.{key}": value for key, value in module.adapter.state_dict().items()})
    torch.save(kept, path)


def restore_adapters(model, path):
    kept = torch.load(path)
    for name, module in model.named_modules():
        if hasattr(module, "adapter"):
            start = f"{name}.adapter."
            module.adapter.load_state_dict({k[len(start) :]: v for k, v in kept.items() if k.startswith(start)})
