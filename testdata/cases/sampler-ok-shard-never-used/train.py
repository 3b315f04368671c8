import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Letters(Dataset):
    def __init__(self, count, rank, world_size):
        source = torch.Generator().manual_seed(17)
        self.strokes = torch.rand(count, 12, generator=source)
        self.letter = torch.randint(5, (count,), generator=source)
        self.strokes, self.letter = self.strokes[rank::world_size], self.letter[rank::world_size]

    def __len__(self):
        return len(self.letter)

    def __getitem__(self, index):
        return self.strokes[index], self.letter[index]


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(17)
    letters = Letters(90, dist.get_rank(), dist.get_world_size())
    loader = DataLoader(letters, batch_size=6, shuffle=True)
    model = DistributedDataParallel(nn.Linear(12, 5).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for strokes, letter in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(strokes.to(device)), letter.to(device)).backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
