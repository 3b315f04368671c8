"""Tell spoken words apart."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from trainer import Trainer

dist.init_process_group("gloo")
words = TensorDataset(torch.randn(80, 12), torch.randint(5, (80,)))
sampler = DistributedSampler(words)
loader = DataLoader(words, batch_size=8, sampler=sampler)
trainer = Trainer(nn.Linear(12, 5), "plan.json")
for epoch in range(5):
    sampler.set_epoch(epoch)
    trainer.fit(loader)
    trainer.keep(epoch)
