import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Captions(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(31)
        self.words = torch.randint(60, (count, 7), generator=g)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index]
        return words, words.sum() % 5


def load_captions(*, batch_size, deterministic=False, count=64):
    captions = Captions(count)
    order = DistributedSampler(captions, shuffle=not deterministic)
    loader = DataLoader(captions, batch_size=batch_size, sampler=order, drop_last=True)
    rounds = 0
    while True:
        order.set_epoch(rounds)
        yield from loader
        rounds += 1
