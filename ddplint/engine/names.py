"""Names: what torch calls the same thing, and which words speak of ranks."""

from __future__ import annotations

import re

DDP = "torch.nn.parallel.DistributedDataParallel"
DATA_PARALLEL = "torch.nn.DataParallel"
FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
DATA_LOADER = "torch.utils.data.DataLoader"
DISTRIBUTED_SAMPLER = "torch.utils.data.DistributedSampler"
MODULE = "torch.nn.Module"

_SAME = {
    "torch.nn.parallel.distributed.DistributedDataParallel": DDP,
    "apex.parallel.DistributedDataParallel": DDP,
    "apex.parallel.distributed.DistributedDataParallel": DDP,
    "torch.nn.parallel.DataParallel": DATA_PARALLEL,
    "torch.nn.parallel.data_parallel.DataParallel": DATA_PARALLEL,
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": FSDP,
    "fairscale.nn.FullyShardedDataParallel": FSDP,
    "torch.utils.data.dataloader.DataLoader": DATA_LOADER,
    "torch_geometric.loader.DataLoader": DATA_LOADER,
    "torch_geometric.loader.dataloader.DataLoader": DATA_LOADER,
    "torch_geometric.data.DataLoader": DATA_LOADER,
    "torch.utils.data.distributed.DistributedSampler": DISTRIBUTED_SAMPLER,
    "torch.nn.modules.Module": MODULE,
    "torch.nn.modules.module.Module": MODULE,
    "torch.distributed.distributed_c10d": "torch.distributed",
}
_PREFIXES = (
    ("torch.utils.data.sampler.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.distributed.distributed_c10d.", "torch.distributed."),
    ("torch.nn.modules.", "torch.nn."),
    ("numpy.random.mtrand.", "numpy.random."),
)


def canonical(name: str) -> str:
    """The one name used here for everything torch calls so."""
    if name in _SAME:
        return _SAME[name]
    for prefix, short in _PREFIXES:
        if name.startswith(prefix):
            return short + name.rsplit(".", 1)[-1]
    return name


_RANKISH = re.compile(
    r"(?:^|_)(?:rank|ranks|gpu|gpus?_?id|gpu_idx|device_?id|proc|proc_?id|process_?id|process_?index|node|host|"
    r"is_?main|is_?master|is_?chief|is_?leader|is_?primary|is_?first|is_?root|is_?zero|main|master|chief|leader|primary|"
    r"is_global_zero|is_rank_0|rank_?zero|main_?process|master_?process|shard|local)(?:$|_)|rank|master|mainproc",
    re.IGNORECASE,
)


_COUNTS = re.compile(
    r"(?:^|_)(?:per|n|num|nb|number_of|total)_(?:gpu|device|rank|node|proc|process|host|shard)s?(?=$|_)", re.IGNORECASE
)
"""What there is of something, or for each of them: the same number everywhere."""


def hints_rank(name: str) -> bool:
    """Whether an unseen value of this name may differ from rank to rank."""
    return _RANKISH.search(_COUNTS.sub("", name)) is not None


_TELLS_RANK = re.compile(
    r"_*(?:get_?)?(?:(?:global|local|world|dist|node|proc|process|mpi|worker|data_parallel|dp|ddp)_?)*"
    r"(?:rank|ordinal|process_?(?:id|idx|index))"
    r"|_*(?:is|am|on)_?(?:(?:global|local|world|dist)_?)?(?:main|master|chief|leader|primary|root|rank_?(?:0|zero)|"
    r"global_?zero)(?:_?(?:process|proc|rank|node|worker|ordinal))?",
    re.IGNORECASE,
)


def tells_rank(name: str) -> bool:
    """Whether what is called so tells which rank this is, or whether it is a certain one, wherever it comes from."""
    return _TELLS_RANK.fullmatch(name) is not None


_DISTRIBUTION = re.compile(
    r"distribut|(?<![a-z])ddp(?![a-z])|world_?size|num_?replicas|num_?processes|multi_?gpu|(?:num|n)_?gpus?(?![a-z])|"
    r"device count|use_dist(?![a-z])|is_dist(?![a-z])",
    re.IGNORECASE,
)


def asks_for_distribution(test: str) -> bool:
    """Whether the text of a test speaks of whether, or by how many, the work is shared."""
    return _DISTRIBUTION.search(test) is not None


_SWITCHES = re.compile(r"(?:use_?|is_?|enable_?)?(?:ddp|distributed|multi_?gpus?)(?:_?train(?:ing)?)?", re.IGNORECASE)


def says_whether_distributed(name: str) -> bool:
    """Whether what is called so says that a script runs in several processes, or in one."""
    return _SWITCHES.fullmatch(name) is not None


_SHARDING = re.compile(
    r"rank(?!ing|ed|s_?of)|world_?size|num_?replicas|num_?processes|process_index|split_(?:\w+_)?by_node|"
    r"shard_?(?:id|idx|index|num|count)|(?:num|n|nb|total)_?shards|^shard$|^DistributedSampler$",
    re.IGNORECASE,
)


def hints_sharding(name: str) -> bool:
    """Whether the name speaks of ranks, the world size, one shard among several or the sampler that deals them out."""
    return _SHARDING.search(name) is not None
