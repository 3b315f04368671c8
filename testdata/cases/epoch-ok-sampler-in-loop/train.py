import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

GROWTH = {0: 4, 1: 6, 2: 6}


class Rivers(Dataset):
    def __init__(self, crop):
        g = torch.Generator().manual_seed(33)
        self.flow = torch.rand(64, 12, generator=g)
        self.crop = crop

    def __len__(self):
        return len(self.flow)

    def __getitem__(self, river):
        return self.flow[river, : self.crop], self.flow[river, self.crop :].mean()


class WholeBatches(DistributedSampler):
    """Leaves out the rows at the end that do not fill a batch."""

    def __init__(self, dataset, batch):
        super().__init__(dataset, shuffle=True, drop_last=True)
        self.batch = batch

    def __iter__(self):
        share = list(super().__iter__())
        return iter(share[: len(share) // self.batch * self.batch])

    def __len__(self):
        return self.num_samples // self.batch * self.batch


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv1d(1, 8, 3, padding=1)
        self.out = nn.Linear(8, 1)

    def forward(self, flow):
        return self.out(torch.relu(self.mix(flow.unsqueeze(1))).mean(-1)).squeeze(-1)


class Course:
    def __init__(self, batch, epochs):
        self.batch, self.epochs = batch, epochs
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.model = DistributedDataParallel(Reader().to(self.device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def init_loader(self, crop):
        rivers = Rivers(crop)
        sampler = WholeBatches(rivers, self.batch)
        self.loader = DataLoader(rivers, batch_size=self.batch, sampler=sampler)

    def run(self):
        for epoch in range(self.epochs):
            self.init_loader(GROWTH[epoch])
            self.loader.sampler.set_epoch(epoch)
            self.train_one_epoch()
            if dist.get_rank() == 0:
                print(f"epoch {epoch} crop {GROWTH[epoch]} loss {self.last:.4f}")

    def train_one_epoch(self):
        for flow, ahead in self.loader:
            loss = nn.functional.mse_loss(self.model(flow.to(self.device)), ahead.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.last = loss.item()


if __name__ == "__main__":
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(0)
    Course(batch=8, epochs=len(GROWTH)).run()
    dist.destroy_process_group()
