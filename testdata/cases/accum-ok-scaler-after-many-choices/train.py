import contextlib
import json
import os
import sys

import torch
import torch.distributed as dist
from scaler import Scaler
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def settings():
    chosen = {"kind": "plain", "window": 4, "speed": False, "trial": False, "start": "", "resume": "", "skip": 0}
    chosen.update(json.loads(os.environ.get("SETTINGS", "{}")))
    return chosen


def build(chosen):
    if chosen["kind"] == "plain":
        return nn.Linear(5, 1)
    if chosen["kind"] == "deep":
        return nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 1))
    if chosen["kind"] == "wide":
        return nn.Sequential(nn.Linear(5, 50), nn.Linear(50, 1))
    if chosen["kind"] == "curved":
        return nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 1))
    if chosen["kind"] == "bent":
        return nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 1))
    if chosen["kind"] == "soft":
        return nn.Sequential(nn.Linear(5, 5), nn.Softplus(), nn.Linear(5, 1))
    if chosen["kind"] == "loose":
        return nn.Sequential(nn.Linear(5, 5), nn.Dropout(0.1), nn.Linear(5, 1))
    raise NotImplementedError(chosen["kind"])


def marshes(count=64):
    source = torch.Generator().manual_seed(83)
    x = torch.rand(count, 5, generator=source)
    return TensorDataset(x, x.mean(dim=1, keepdim=True))


def one_epoch(chosen, model, loader, optimizer, scaler, device):
    optimizer.zero_grad()
    for at, (x, y) in enumerate(loader):
        if chosen["skip"] and at % chosen["skip"] == 0:
            continue
        last = (at + 1) % chosen["window"] == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device)) / chosen["window"]
            scaler(loss, optimizer, model.parameters(), update=last)
        if last:
            optimizer.zero_grad()


def main():
    chosen = settings()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(83)
    rows = marshes()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=4, sampler=sampler)
    model = build(chosen).to(device)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = Scaler()
    if chosen["start"]:
        model.module.load_state_dict(torch.load(chosen["start"], map_location=device))
        if chosen["trial"]:
            sys.exit(0)
    if chosen["resume"]:
        model.module.load_state_dict(torch.load(chosen["resume"], map_location=device))
        if chosen["trial"]:
            return
    if chosen["speed"]:
        print("timed elsewhere")
        return
    for epoch in range(3):
        sampler.set_epoch(epoch)
        one_epoch(chosen, model, loader, optimizer, scaler, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
