import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EVERY = 3


class Task:
    def width(self):
        raise NotImplementedError

    def loss(self, model, batch):
        raise NotImplementedError


class Logged(Task):
    def tell(self, text):
        if dist.get_rank() == 0:
            print(text)


class Regression(Task):
    def width(self):
        return 1

    def loss(self, model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x), y)


class Yield(Logged, Regression):
    """Tons an acre."""


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    task = Yield()
    soil = torch.rand(72, 4, generator=torch.Generator().manual_seed(1))
    rows = TensorDataset(soil, soil.prod(dim=1, keepdim=True))
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=6, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(4, task.width()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for number, batch in enumerate(loader, 1):
            ready = number % EVERY == 0
            loss = task.loss(model, batch) / EVERY
            loss.backward()  # [ddp-wasted-gradient-sync]
            if ready:
                optimizer.step()
                optimizer.zero_grad()
        task.tell(f"epoch {epoch}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
