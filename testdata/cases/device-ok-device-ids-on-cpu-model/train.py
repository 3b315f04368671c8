import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from leaves import LeafPhotos, build_classifier


def main(epochs=5):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)

    photos = LeafPhotos(200)
    sampler = DistributedSampler(photos, shuffle=True)
    loader = DataLoader(photos, batch_size=20, sampler=sampler, num_workers=2, pin_memory=True)

    model = DDP(
        build_classifier(species=11).cuda(local_rank),
        device_ids=[local_rank],
        output_device=local_rank,
    )
    criterion = torch.nn.CrossEntropyLoss().cuda(local_rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for photo, species in loader:
            photo = photo.cuda(local_rank, non_blocking=True)
            species = species.cuda(local_rank, non_blocking=True)
            loss = criterion(model(photo), species)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
