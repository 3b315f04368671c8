"""Names that a program may use without binding them."""

from __future__ import annotations

from ddplint.engine.declared import ON_ONE_RANK
from ddplint.engine.library.environment import ENVIRON, RANKS, SIZE
from ddplint.engine.machine import Machine
from ddplint.engine.names import canonical, hints_rank
from ddplint.engine.values import Lib, Sym, Value, const, one


def builtin(name: str) -> Value:
    """A built-in name; an unknown value where Python has none of that name."""
    if name in ("True", "False", "None"):
        return const({"True": True, "False": False, "None": None}[name])
    if name in _BUILTINS:
        return one(Lib(f"builtins.{name}"))
    return one(Sym(f"name {name}", ranked=hints_rank(name)))


_BUILTINS = frozenset(
    [
        "print",
        "len",
        "int",
        "float",
        "bool",
        "str",
        "bytes",
        "isinstance",
        "issubclass",
        "hasattr",
        "getattr",
        "setattr",
        "delattr",
        "range",
        "enumerate",
        "zip",
        "iter",
        "next",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "sorted",
        "reversed",
        "map",
        "filter",
        "min",
        "max",
        "sum",
        "any",
        "all",
        "abs",
        "round",
        "vars",
        "type",
        "super",
        "open",
        "callable",
        "id",
        "repr",
        "property",
        "staticmethod",
        "classmethod",
        "exit",
        "quit",
        "globals",
        "locals",
        "input",
        "format",
        "divmod",
        "pow",
        "object",
        "Exception",
        "ValueError",
        "TypeError",
        "RuntimeError",
        "KeyError",
        "StopIteration",
        "NotImplementedError",
        "ImportError",
        "OSError",
        "AssertionError",
        "IndexError",
        "AttributeError",
        "FileNotFoundError",
        "KeyboardInterrupt",
        "BaseException",
        "hash",
        "ord",
        "chr",
        "dir",
        "slice",
        "bytearray",
        "memoryview",
        "complex",
        "hex",
        "oct",
        "bin",
        "eval",
        "exec",
        "compile",
        "__import__",
        "NotImplemented",
        "Ellipsis",
    ]
)


_STAR_NAMES = {
    "torch.utils.data": {"DataLoader", "DistributedSampler", "Dataset", "RandomSampler", "SequentialSampler",
                         "WeightedRandomSampler", "SubsetRandomSampler", "BatchSampler", "TensorDataset", "Subset",
                         "random_split", "IterableDataset", "ConcatDataset", "Sampler", "distributed"},
    "torch.utils.data.distributed": {"DistributedSampler"},
    "torch.nn.parallel": {"DistributedDataParallel", "DataParallel"},
    "torch.distributed": {"get_rank", "get_world_size", "init_process_group", "is_initialized", "barrier",
                          "all_reduce", "all_gather", "destroy_process_group"},
    "torch.nn": {"Module", "Linear", "Sequential", "ModuleList", "ModuleDict", "DataParallel", "parallel"},
}  # fmt: skip


def star(m: Machine, module: str, name: str) -> Value | None:
    """What ``from module import *`` binds ``name`` to, where it is known to."""
    full = f"{module}.{name}"
    if name in _STAR_NAMES.get(module, ()) or (m.declared is not None and m.declared.names(full)):
        return named(m, full)
    return None


def named(m: Machine, name: str) -> Value:
    """What a library's full dotted name stands for."""
    if m.declared is not None and canonical(name) in m.declared.predicates:
        return ON_ONE_RANK
    return _constant(name) or one(Lib(canonical(name)))


def _constant(name: str) -> Value | None:
    """A library attribute that is a value."""
    if name == "os.environ":
        return one(ENVIRON)
    if name in _OF_MPI:
        return one(_OF_MPI[name])
    if name == "sys.argv":
        return one(Sym("sys.argv", opaque=False))
    if name.startswith("torch.") and name.rsplit(".", 1)[-1] in DTYPES and name.count(".") == 1:
        return one(Sym(name, opaque=False))
    return None


_OF_MPI = {"mpi4py.MPI.COMM_WORLD.rank": RANKS, "mpi4py.MPI.COMM_WORLD.size": SIZE}


DTYPES = {"float16", "float32", "float64", "bfloat16", "half", "float", "double", "int64", "int32", "long", "bool"}
