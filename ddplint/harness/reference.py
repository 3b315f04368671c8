"""A DistributedDataParallel trainer to start from: ``torchrun --nproc-per-node 2 reference.py``.

It runs on GPUs with NCCL where there are any, and on the CPU with gloo where there are none.
"""

import argparse
import os
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES = 64


def build_dataset():
    """The data: ``SAMPLES`` rows of (number, 8 inputs, 1 target), the same on every rank because they are seeded."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(SAMPLES, 8, generator=generator)
    return TensorDataset(torch.arange(SAMPLES), inputs, inputs.sum(dim=1, keepdim=True))


def build_model() -> nn.Module:
    """The plain model, which a checkpoint of this program loads into."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def count_syncs(counts, bucket):
    """Average a bucket of gradients over the ranks, as without this hook, and count the whole gradients averaged."""
    counts["syncs"] += bucket.is_last()
    return allreduce_hook(None, bucket)


def windows(loader, size):
    """The batches of ``loader`` in lists of ``size``, one list an optimizer step; the last one may be shorter."""
    batches = iter(loader)
    while window := list(islice(batches, size)):
        yield window


def train_epoch(model, loader, optimizer, accumulation, device):
    """Train one pass over ``loader``; returns the numbers of the samples seen and the optimizer steps made."""
    seen, steps = set(), 0

    def add_gradients(batch, share):
        numbers, inputs, targets = batch
        seen.update(numbers.tolist())
        loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
        (loss * share).backward()

    for window in windows(loader, accumulation):
        optimizer.zero_grad()
        with model.no_sync():  # forward and backward both: the forward decides whether gradients are reduced
            for batch in window[:-1]:
                add_gradients(batch, 1 / len(window))
        add_gradients(window[-1], 1 / len(window))
        optimizer.step()
        steps += 1
    return seen, steps


def main():
    """Train, report what each rank saw, save."""
    parser = argparse.ArgumentParser(description="Train a small model with DistributedDataParallel.")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4, help="samples of a micro-batch, in each process")
    parser.add_argument("--accumulation", type=int, default=2, help="micro-batches of an optimizer step")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    options = parser.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")

    dataset = build_dataset()
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=options.batch_size, sampler=sampler)

    model = DistributedDataParallel(build_model().to(device))
    counts = {"syncs": 0}
    model.register_comm_hook(counts, count_syncs)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        before = counts["syncs"]
        seen, steps = train_epoch(model, loader, optimizer, options.accumulation, device)
        syncs = (counts["syncs"] - before) / steps
        report = f"epoch {epoch}: rank {rank} saw {len(seen)} of {SAMPLES} samples"
        report += f", steps: {steps}, syncs per step: {syncs:g}"
        for turn in range(dist.get_world_size()):  # so that the lines stand in order
            if rank == turn:
                print(report, flush=True)
            dist.barrier()

    if rank == 0:
        torch.save(model.module.state_dict(), options.checkpoint)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
