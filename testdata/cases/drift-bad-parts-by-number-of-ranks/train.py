import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORDS_A_STEP = 512
WORDS = 16
LINES = 4


class Reader:
    """Gives the verses of this rank one after another, and begins again."""

    def __init__(self, rank, world):
        source = torch.Generator().manual_seed(21)
        self.verses = torch.rand(32, LINES, WORDS, generator=source)[rank::world]
        self.at = 0

    def next(self):
        verse = self.verses[self.at % len(self.verses)]
        self.at += 1
        return verse, verse.roll(1, dims=1)


def main():
    together = int(os.environ.get("RANK", -1)) != -1
    rank, world = 0, 1
    if together:
        dist.init_process_group("gloo")
        rank, world = dist.get_rank(), dist.get_world_size()
    assert WORDS_A_STEP % (LINES * WORDS * world) == 0
    parts = WORDS_A_STEP // (LINES * WORDS * world)
    torch.manual_seed(21)
    model = nn.Linear(WORDS, WORDS)
    if together:
        model = DDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    reader = Reader(rank, world)
    best = None
    for turn in range(4):
        optimizer.zero_grad()
        shown = torch.zeros(())
        for part in range(parts):
            verse, following = reader.next()
            loss = nn.functional.mse_loss(model(verse), following) / parts
            shown += loss.detach()
            if together:
                model.require_backward_grad_sync = part == parts - 1  # [ddp-unsynchronized-step]
            loss.backward()
        optimizer.step()
        best = shown if best is None else torch.minimum(best, shown)
        if rank == 0:
            print(turn, best.item())
    if together:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
