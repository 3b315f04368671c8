import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PIECES = 4


def wells(count=96):
    source = torch.Generator().manual_seed(8)
    depth = torch.rand(count, 4, generator=source)
    return TensorDataset(depth, depth.mean(dim=1, keepdim=True))


class Aquifer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 6)
        self.head = nn.Linear(6, 1)

    def forward(self, depth):
        return self.head(torch.relu(self.embed(depth)))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    rows = wells()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=12, sampler=sampler)
    aquifer = Aquifer()
    model = DistributedDataParallel(aquifer)
    optimizers = [
        torch.optim.SGD(aquifer.embed.parameters(), lr=0.05),
        torch.optim.Adam(aquifer.head.parameters(), lr=0.01),
    ]
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for depth, level in loader:
            for number in range(PIECES):
                x, y = depth[number::PIECES], level[number::PIECES]
                loss = nn.functional.mse_loss(model(x), y) / PIECES
                if number < PIECES - 1:
                    with model.no_sync():  # [ddp-wasted-gradient-sync]
                        loss.backward()
                else:
                    loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
