import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=4, sampler=sampler)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
stream = iter(loader)
epoch = 0
for step in range(40):
    try:
        inputs, targets = next(stream)
    except StopIteration:
        epoch += 1
        sampler.set_epoch(epoch)
        stream = iter(loader)
        continue
    if inputs.size(0) < 4:
        continue
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if not torch.isfinite(loss):
        raise ValueError("the loss is not finite")
    if dist.get_rank() != 0:
        continue
    print(step, loss.item())
dist.destroy_process_group()
