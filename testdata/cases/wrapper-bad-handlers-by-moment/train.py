import torch
import torch.distributed as dist
from engine import Engine, Moment
from handlers import Saver, say
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def barges(count=48):
    source = torch.Generator().manual_seed(43)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(43)
    rows = barges()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    engine = Engine(step)
    engine.on(Moment.ROUND_STARTED, lambda engine: sampler.set_epoch(engine.round))
    engine.on(Moment.ROUND_ENDED, say, "done")
    if dist.get_rank() == 0:
        engine.on(Moment.ROUND_ENDED, Saver("barge.pt"), {"model": model, "optimizer": optimizer})
    engine.run(loader, 3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
