import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, Dataset, DistributedSampler


class Pendulums(Dataset):
    def __init__(self, config):
        g = torch.Generator().manual_seed(config["seed"])
        self.angles = torch.randn(config["count"], 9, generator=g)
        self.pulls = -self.angles

    def __len__(self):
        return len(self.angles)

    def __getitem__(self, index):
        return {"angle": self.angles[index], "pull": self.pulls[index]}


class PullFitter:
    def __init__(self, config):
        self.config = config
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self._make_loaders()
        self._make_net()

    def _make_loaders(self):
        self.fit_set = Pendulums(self.config["swings"])
        batches = BatchSampler(
            DistributedSampler(self.fit_set),
            batch_size=self.config["plan"]["rows"],
            drop_last=False,
        )
        self.fit_loader = DataLoader(self.fit_set, batch_sampler=batches)
        self.check_loader = None
        if "check" in self.config:
            self.check_set = Pendulums(self.config["check"])
            self.check_loader = DataLoader(self.check_set, self.config["plan"]["check_rows"], shuffle=False)

    def _make_net(self):
        net = nn.Sequential(nn.Linear(9, 18), nn.SiLU(), nn.Linear(18, 9)).to(self.device)
        ids = [self.device.index] if self.device.type == "cuda" else None
        self.model = DistributedDataParallel(net, device_ids=ids, broadcast_buffers=False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), self.config["plan"]["lr"])

    def train(self):
        for epoch in range(self.config["plan"]["epochs"]):
            self.fit_loader.batch_sampler.sampler.set_epoch(epoch)
            self.model.train()
            for batch in self.fit_loader:
                predicted = self.model(batch["angle"].to(self.device))
                loss = nn.functional.l1_loss(predicted, batch["pull"].to(self.device))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if self.check_loader is not None:
                self.check(epoch)

    def check(self, epoch):
        self.model.eval()
        errors = []
        with torch.no_grad():
            for batch in self.check_loader:
                predicted = self.model.module(batch["angle"].to(self.device))
                errors.append(nn.functional.l1_loss(predicted, batch["pull"].to(self.device)))
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: pull error {torch.stack(errors).mean().item():.4f}")


if __name__ == "__main__":
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(2)
    fitter = PullFitter(
        {
            "swings": {"count": 64, "seed": 1},
            "check": {"count": 16, "seed": 2},
            "plan": {"rows": 8, "check_rows": 16, "epochs": 2, "lr": 1e-2},
        }
    )
    fitter.train()
    dist.destroy_process_group()
