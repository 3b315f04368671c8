import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torch_geometric.datasets import TUDataset
from torch_geometric.nn import GCNConv
from torch_geometric.nn.pool import global_mean_pool
from torch.utils.data import DataLoader


class Reader(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = GCNConv(width, 2)

    def forward(self, graph):
        return global_mean_pool(self.layer(graph.x, graph.edge_index), graph.batch)


def main():
    dist.init_process_group("gloo")
    graphs = TUDataset("graphs", name="MUTAG").shuffle()  # [ddp-rank-dependent-split]
    learn, test = graphs[30:], graphs[:30]
    sampler = DistributedSampler(learn)
    loader = DataLoader(learn, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(Reader(7))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for graph in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(graph), graph.y).backward()
            optimizer.step()
    print(len(test))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
