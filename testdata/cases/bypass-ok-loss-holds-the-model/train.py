import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Ripeness(nn.Module):
    """How far a guess of the sugar is from what was measured, in the units of the refractometer."""

    def __init__(self, network, weight):
        super().__init__()
        self.network = network
        self.weight = weight

    def forward(self, colour, sugar):
        return self.weight * nn.functional.smooth_l1_loss(self.network(colour), sugar)


def grapes(count=64):
    source = torch.Generator().manual_seed(11)
    colour = torch.rand(count, 3, generator=source)
    return TensorDataset(colour, 20 * colour[:, :1])


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(11)
    rows = grapes()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)))
    ripeness = Ripeness(model, weight=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for colour, sugar in loader:
            optimizer.zero_grad()
            loss = ripeness(colour, sugar)
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
