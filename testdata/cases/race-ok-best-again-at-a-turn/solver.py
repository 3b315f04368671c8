import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Solver:
    """Fits a line, and narrows the steps from the best weights on."""

    resume = None

    def __init__(self, turn):
        self.turn = turn
        self.lowest = float("inf")
        self.net = DDP(nn.Linear(2, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        x = torch.linspace(0, 1, 96).reshape(48, 2)
        data = TensorDataset(x, x.sum(1, keepdim=True))
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, batch_size=6, sampler=self.sampler)
        if self.resume:
            self.go_back(self.resume)

    def go_back(self, file):
        state = torch.load(file, map_location="cpu")
        self.net.module.load_state_dict(state)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            if epoch == self.turn:
                dist.barrier()
                self.go_back("lowest.pt")
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            if total < self.lowest:
                self.lowest = total
                if dist.get_rank() == 0:
                    torch.save(self.net.module.state_dict(), "lowest.pt")
