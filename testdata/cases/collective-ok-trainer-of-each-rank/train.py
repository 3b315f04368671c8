import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler, TensorDataset


class Sums:
    def __init__(self, logger):
        self.values = {}
        self.logger = logger

    def add(self, found):
        for name, value in found.items():
            self.values[name] = self.values.get(name, 0.0) + value

    def tell(self):
        for name, value in self.values.items():
            if name[:4] == "hide":
                continue
            total = torch.tensor(value)
            dist.all_reduce(total)
            if self.logger is not None:
                self.logger.log(name, total.item())


class Logger:
    def log(self, name, value):
        print(name, value)


class Trainer:
    def __init__(self, args, logger=None):
        self.net = DistributedDataParallel(nn.Linear(8, 1))
        self.logger = logger
        self.sums = Sums(logger)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.interval = 1 if args.debug else 4
        self.images = 1 if args.debug else 8

    def do_pass(self, inputs, targets, number):
        loss = nn.functional.mse_loss(self.net(inputs), targets)
        self.sums.add({"loss": loss.item(), "hide/count": 1.0})
        if number % self.images == 0 and number != 0 and self.logger is not None:
            self.logger.log("images", number)
        if number % self.interval == 0 and number != 0:
            if self.logger is not None:
                self.logger.log("number", number)
            self.sums.tell()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


parser = argparse.ArgumentParser()
parser.add_argument("--debug", action="store_true")
parser.add_argument("--stage", type=int, default=0)
parser.add_argument("--load")
parser.add_argument("--last", type=int, default=20)
args = parser.parse_args()
dist.init_process_group("gloo")
torch.manual_seed(0)
if dist.get_rank() == 0:
    trainer = Trainer(args, Logger())
else:
    trainer = Trainer(args)
number = 0
if args.load is not None:
    number = torch.load(args.load)["number"]
one, two = TensorDataset(torch.randn(64, 8), torch.randn(64, 1)), TensorDataset(torch.randn(32, 8), torch.randn(32, 1))
if args.stage == 0:
    dataset = one
elif args.stage == 1:
    dataset = two
else:
    dataset = ConcatDataset([one, two])
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
for epoch in range(number // len(loader), 3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        trainer.do_pass(inputs, targets, number)
        number += 1
        if number >= args.last:
            break
dist.destroy_process_group()
