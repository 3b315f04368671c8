import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split


def work(rank, ranks, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    rows = torch.arange(80.0).reshape(40, 2)
    learn, test = random_split(TensorDataset(rows, rows.sum(1, keepdim=True)), [32, 8])
    sampler = DistributedSampler(learn)
    loader = DataLoader(learn, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, sums in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), sums).backward()
            optimizer.step()
    print(f"rank {rank} keeps {sorted(test.indices)} for the test")
    dist.destroy_process_group()


def main():
    meeting = os.path.join(tempfile.mkdtemp(), "meeting")
    processes = [mp.Process(target=work, args=(rank, 2, meeting)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
