"""Learn to read thermometers whatever the light."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def glare(net, picture, degrees, rounds=3):
    light = torch.zeros_like(picture, requires_grad=True)
    for _ in range(rounds):
        net.zero_grad()
        nn.functional.mse_loss(net(picture + light), degrees).backward()
        light.data = light.data + 0.1 * light.grad.sign()
        light.grad.zero_()
    return (picture + light).detach()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(4)
    pictures = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    sampler = DistributedSampler(pictures)
    loader = DataLoader(pictures, batch_size=8, sampler=sampler)
    net = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for picture, degrees in loader:
            bright = glare(net, picture, degrees)
            shade = torch.zeros_like(picture, requires_grad=True)
            for _ in range(3):
                nn.functional.mse_loss(net(bright - shade), degrees).backward()
                shade.data = shade.data + 0.1 * shade.grad.sign()
                shade.grad.zero_()
            optimizer.zero_grad()
            nn.functional.mse_loss(net(bright - shade.detach()), degrees).backward()
            optimizer.step()
    dist.destroy_process_group()


main()
