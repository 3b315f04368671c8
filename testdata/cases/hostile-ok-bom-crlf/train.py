# Fertile or not: a first look at eggs under the lamp
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

cuda = torch.cuda.is_available()
dist.init_process_group("nccl" if cuda else "gloo")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
torch.manual_seed(0)

NOTE = """Größe in µm; the shell
lets through 3 % of the light."""

generator = torch.Generator().manual_seed(20)
light = torch.rand(24, 3, generator=generator)
eggs = TensorDataset(light, light.prod(dim=1, keepdim=True))
sampler = DistributedSampler(eggs)
loader = DataLoader(
    eggs,
    batch_size=4,
    sampler=sampler,
)

net = torch.nn.Linear(3, 1).to(device)
net = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(
            net(x.to(device)),
            y.to(device),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(epoch, loss.item())

if dist.get_rank() == 0:
    torch.save(net.module.state_dict(), "eggs.pt")
dist.destroy_process_group()
