import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, default_collate

dist.init_process_group("gloo")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
sampler = DistributedSampler(dataset)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def usable(samples):
    kept = [sample for sample in samples if sample[0].sum() > -4]
    if not kept:
        return None
    return default_collate(kept)


loader = DataLoader(dataset, batch_size=4, sampler=sampler, collate_fn=usable)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for batch in loader:
        if batch is None:
            continue  # [ddp-rank-local-exit]
        inputs, targets = batch
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
dist.destroy_process_group()
