import argparse
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def jetties(count=48):
    source = torch.Generator().manual_seed(20)
    x = torch.rand(count, 3, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def parts(options, x, y):
    if options.parts == 1:
        return [x], [y]
    if options.mix:
        return x.chunk(options.parts), [0.9 * part for part in y.chunk(options.parts)]
    if options.flip and options.scale:
        return x.flip(0).chunk(options.parts), y.flip(0).chunk(options.parts)
    if options.scale and options.shift:
        return (x + 1).chunk(options.parts), (y + 1).chunk(options.parts)
    return x.chunk(options.parts), y.chunk(options.parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=int, default=2)
    for name in ("--mix", "--flip", "--scale", "--shift", "--half", "--twice"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(20)
    rows = jetties()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(device.type, enabled=cuda)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            xs, ys = parts(options, x.to(device), y.to(device))
            optimizer.zero_grad()
            for number, (part, wanted) in enumerate(zip(xs, ys)):
                last = number == len(xs) - 1
                with contextlib.nullcontext() if last else model.no_sync():
                    if options.twice:
                        seen = (model(part) + model(part)) / 2
                    else:
                        seen = model(part)
                    loss = nn.functional.mse_loss(seen, wanted)
                    if cuda and options.half:
                        scaler.scale(loss).backward()
                    else:
                        loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
