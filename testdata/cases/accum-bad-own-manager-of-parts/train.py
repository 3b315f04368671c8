import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from coach import Coach


class Rowing(Coach):
    def outcome(self, batch):
        strokes, pace = batch
        return nn.functional.mse_loss(self.parts.pace(torch.relu(self.parts.stroke(strokes))), pace)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(6)
    strokes = torch.rand(64, 3, generator=torch.Generator().manual_seed(6))
    rows = TensorDataset(strokes, strokes.sum(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    Rowing({"stroke": nn.Linear(3, 5), "pace": nn.Linear(5, 1)}, window=4).fit(loader, sampler, epochs=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
