import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs
        cuda = torch.cuda.is_available()
        dist.init_process_group("nccl" if cuda else "gloo")
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")


class ReefTrainer(Trainer):
    def __init__(self, epochs):
        super(ReefTrainer, self).__init__(epochs)
        source = torch.Generator().manual_seed(5)
        corals = TensorDataset(torch.rand(48, 4, generator=source), torch.rand(48, 1, generator=source))
        self.sampler = DistributedSampler(corals)  # [ddp-missing-set-epoch]
        self.loader = DataLoader(corals, batch_size=8, sampler=self.sampler)
        self.model = DistributedDataParallel(nn.Linear(4, 1).to(self.device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def run(self):
        for epoch in range(self.epochs):
            for water, growth in self.loader:
                self.optimizer.zero_grad()
                nn.functional.mse_loss(self.model(water.to(self.device)), growth.to(self.device)).backward()
                self.optimizer.step()
            if dist.get_rank() == 0:
                print("epoch", epoch)
        dist.destroy_process_group()
