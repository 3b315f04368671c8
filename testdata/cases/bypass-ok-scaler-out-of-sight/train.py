import torch
import torch.distributed as dist
from hydrolib.models import build_gauge
from hydrolib.training import NativeScaler, make_optimizer
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def floods(count=64):
    source = torch.Generator().manual_seed(61)
    x = torch.rand(count, 4, generator=source)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(61)
    rows = floods()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = DDP(build_gauge("alpine"))
    optimizer = make_optimizer(model)
    loss_scaler = NativeScaler()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss_scaler(loss, optimizer, parameters=model.parameters())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
