import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


class Neighbours(DataLoader):
    """Goes over some nodes of a graph, with their neighbours."""

    def __init__(self, graph, nodes, **options):
        self.graph = graph
        kind, nodes = nodes if isinstance(nodes, tuple) else ("all", nodes)
        if nodes.dtype == torch.bool:
            nodes = nodes.nonzero().view(-1)
        self.kind = kind
        super().__init__(nodes.tolist(), collate_fn=self.around, **options)

    def around(self, nodes):
        return self.graph[torch.tensor(nodes)]


def own_mask(mask, rank, world):
    places = mask.nonzero().view(-1)
    places = places.split(len(places) // world)[rank].clone()
    print(places)
    own = torch.full_like(mask, False)
    own[mask] = True
    return own


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for x in loader:
            x = x.to(device)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.mean(dim=1, keepdim=True)).backward()
            optimizer.step()


def main():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(25)
    source = torch.Generator().manual_seed(25)
    graph = torch.rand(48, 3, generator=source)
    nodes = torch.arange(48)
    print(rank, world)
    mask = own_mask(graph[:, 0] > 0.2, rank, world)
    model = DistributedDataParallel(nn.Linear(3, 1).to(device))
    train(model, Neighbours(graph, ("rows", nodes), batch_size=8, shuffle=True), device)  # [ddp-missing-distributed-sampler]
    train(model, Neighbours(graph, mask, batch_size=8, shuffle=True), device)  # [ddp-missing-distributed-sampler]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
