import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

passes = 2
batch_size = 4
gather_steps = 4
rate = 0.02
max_norm = 1.0


class Melodies(Dataset):
    """Short note sequences; the target is the same sequence one note on."""

    def __init__(self, count=64):
        gen = torch.Generator().manual_seed(88)
        self.notes = torch.randint(0, 12, (count, 9), generator=gen)

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, i):
        return self.notes[i, :-1], self.notes[i, 1:]


class MelodyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(12, 16)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(16, 12)

    def forward(self, heard, following):
        scores = self.out(self.rnn(self.notes(heard))[0])
        return nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())


def train_pass(epoch):
    for step, (heard, following) in enumerate(train_loader):
        heard, following = heard.to(device), following.to(device)
        if ddp:
            # sync only when an update follows
            model.require_backward_grad_sync = (step + 1) % gather_steps == 0
        loss = model(heard, following) / gather_steps
        loss.backward()
        if (step + 1) % gather_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if master:
                print(f"epoch {epoch} step {step + 1} loss {loss.item() * gather_steps:.3f}")


if __name__ == "__main__":
    ddp = int(os.environ.get("RANK", -1)) >= 0
    cuda = torch.cuda.is_available()
    local = int(os.environ.get("LOCAL_RANK", 0))
    if ddp:
        dist.init_process_group("nccl" if cuda else "gloo")
    master = not ddp or dist.get_rank() == 0
    device = f"cuda:{local}" if cuda else "cpu"
    torch.manual_seed(33)

    melodies = Melodies()
    sampler = DistributedSampler(melodies) if ddp else None
    train_loader = DataLoader(melodies, batch_size=batch_size, sampler=sampler, shuffle=sampler is None)
    model = MelodyNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    if ddp:
        model = DDP(model, device_ids=[local] if cuda else None)
    for epoch in range(passes):
        if ddp:
            sampler.set_epoch(epoch)
        train_pass(epoch)
    if ddp:
        dist.destroy_process_group()
