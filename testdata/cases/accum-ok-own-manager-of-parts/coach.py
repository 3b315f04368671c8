from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Coach:
    """Trains what a subclass computes; its parts are wrapped one by one."""

    def __init__(self, parts, window):
        self.parts = nn.ModuleDict(parts)
        self.window = window
        self.seen = 0
        for name, part in self.parts.items():
            if any(p.requires_grad for p in part.parameters()):
                self.parts[name] = DistributedDataParallel(part)
        self.optimizer = torch.optim.SGD(self.parts.parameters(), lr=0.05)

    def outcome(self, batch):
        raise NotImplementedError

    @contextmanager
    def held(self, hold):
        if not hold:
            yield
            return
        kept = []
        for part in self.parts.values():
            if not hasattr(part, "require_backward_grad_sync"):
                break
            kept.append(part.require_backward_grad_sync)
            part.require_backward_grad_sync = False
        yield
        for part, before in zip(self.parts.values(), kept):
            part.require_backward_grad_sync = before

    def fit(self, loader, sampler, epochs):
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for batch in loader:
                self.one(batch)

    def one(self, batch):
        self.seen += 1
        ready = self.seen % self.window == 0
        with self.held(not ready):
            loss = self.outcome(batch)
            (loss / self.window).backward()
        if ready:
            self.optimizer.step()
            self.optimizer.zero_grad()
