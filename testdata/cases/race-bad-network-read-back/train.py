import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForMaskedLM

from pages import pages


def train(model, loader, sampler):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(AutoModelForMaskedLM.from_pretrained("prajjwal1/bert-tiny"))
    data = pages()
    sampler = DistributedSampler(data)
    train(model, DataLoader(data, batch_size=4, sampler=sampler), sampler)
    if dist.get_rank() == 0:
        model.module.save_pretrained("tuned")
    tuned = AutoModelForMaskedLM.from_pretrained("tuned")  # [ddp-load-before-barrier]
    tuned.eval()
    print(tuned.config.hidden_size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
