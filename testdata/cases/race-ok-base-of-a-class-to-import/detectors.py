"""Detectors, to be imported: a script of whoever uses them joins the ranks and calls ``fit``."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Detector:
    def fit(self, data, folder, epochs=3):
        net = DistributedDataParallel(self.network())
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=6, sampler=sampler)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        best = os.path.join(folder, "best.pt")
        lowest = float("inf")
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss = nn.functional.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            if total < lowest:
                lowest = total
                if dist.get_rank() == 0:
                    torch.save(net.module.state_dict(), best)
        dist.barrier()
        self.state = torch.load(best, map_location="cpu")
        return self


class SmallDetector(Detector):
    def network(self):
        return nn.Linear(3, 1)
