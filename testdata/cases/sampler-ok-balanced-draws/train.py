import argparse
import datetime
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from claims import balanced_loader


class Run:
    def __init__(self, options):
        self.options = options

    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.start_processes(self.work, args=(port,), nprocs=self.options.processes, start_method="spawn")

    def work(self, rank, port):
        store = dist.TCPStore("127.0.0.1", port, self.options.processes, rank == 0, datetime.timedelta(seconds=60))
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=self.options.processes)
        torch.manual_seed(1000 + rank)
        device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
        loader = balanced_loader(self.options.batch)
        model = DDP(nn.Linear(7, 2).to(device))
        self.train(model, loader, device, chief=rank == 0)
        dist.destroy_process_group()

    def train(self, model, loader, device, chief):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(self.options.epochs):
            total = 0.0
            for claim, accepted in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(claim.to(device)), accepted.to(device))
                loss.backward()
                optimizer.step()
                total += loss.item()
            if chief:
                print(f"epoch {epoch} mean loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    Run(parser.parse_args()).start()
