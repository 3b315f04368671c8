import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def dykes(count=48):
    source = torch.Generator().manual_seed(96)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def is_spread(options):
    if options.alone:
        return False
    if options.debug:
        return options.check
    if options.dry or options.plain:
        return False
    if options.small and options.trace:
        return False
    return not (options.trace and options.start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=2)
    parser.add_argument("--start")
    for name in ("--alone", "--debug", "--dry", "--check", "--plain", "--small", "--trace"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    together = is_spread(options)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    width = options.width if together else 1
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(96)
    rows = dykes()
    model = nn.Linear(3, 1).to(device)
    best = 0
    if options.start and os.path.isfile(options.start):
        start = torch.load(options.start, map_location=device)
        model.load_state_dict(start["net"])
        best = start["best"]
    if together:
        model = DistributedDataParallel(model)
    sampler = DistributedSampler(rows) if together else None
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        if sampler is not None:
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        if epoch % width == 0:
            best = max(best, epoch)
            net = model.module if together else model
            torch.save({"net": net.state_dict(), "best": best}, "dyke.pt")  # [ddp-unguarded-save]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
