import argparse
import itertools
import os

import torch
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils import data


class Leaves(data.Dataset):
    def __init__(self, train):
        source = torch.Generator().manual_seed(21 if train else 22)
        self.veins = torch.rand(64 if train else 16, 25, generator=source)
        self.kinds = (self.veins.sum(dim=1) > 12.5).long()

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return self.veins[index], self.kinds[index]


class LeafLoader(data.DataLoader):
    """Serves one part of the leaves; the training part is shared out between the processes."""

    def __init__(self, batch_size, train=True):
        leaves = Leaves(train)
        sampler = None
        if train and distributed.is_initialized():
            sampler = data.DistributedSampler(leaves)
        super().__init__(leaves, batch_size=batch_size, shuffle=train and sampler is None, sampler=sampler)


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.epoch = 0
        self.out = nn.Linear(25, 2)

    def forward(self, veins):
        return self.out(veins)


class Fitter:
    def __init__(self, model, fit_loader, held_loader, device):
        self.fit_loader = fit_loader
        self.held_loader = held_loader
        self.device = device
        self.state = model.to(device)
        self.model = DistributedDataParallel(self.state, device_ids=[device.index] if device.type == "cuda" else None)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, epochs):
        for self.state.epoch in itertools.count(1):
            if self.state.epoch > epochs:
                break
            self.fit_loader.sampler.set_epoch(self.state.epoch)
            loss = self.train()
            share = self.check()
            if distributed.get_rank() == 0:
                print(f"{self.state.epoch}/{epochs} loss {loss:.4f} share {share:.3f}")

    def train(self):
        self.model.train()
        total = 0.0
        for veins, kinds in self.fit_loader:
            scores = self.model(veins.to(self.device))
            loss = F.cross_entropy(scores, kinds.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(kinds)
        return total / len(self.fit_loader.sampler)

    @torch.no_grad()
    def check(self):
        self.model.eval()
        right = 0
        for veins, kinds in self.held_loader:
            right += (self.state(veins.to(self.device)).argmax(1).cpu() == kinds).sum().item()
        return right / len(self.held_loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    distributed.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(1)
    fitter = Fitter(LeafNet(), LeafLoader(args.batch_size), LeafLoader(args.batch_size, train=False), device)
    fitter.fit(args.epochs)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
