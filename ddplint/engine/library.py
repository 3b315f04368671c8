"""What torch, the standard library and their like do, as far as the rules need to know."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from ddplint.engine import facts
from ddplint.engine.calls import (
    UNSEEN,
    Arguments,
    call_back,
    draw,
    escape,
    exact_elements,
    given_parser,
    iterate,
    opaque_call,
)
from ddplint.engine.conditions import ALWAYS, LOST, NEVER, NODES, PER_NODE, WORLD, Key, Path, conjoin, disjoin, fact
from ddplint.engine.machine import Around, Machine
from ddplint.engine.names import (
    DATA_LOADER,
    DATA_PARALLEL,
    DDP,
    DISTRIBUTED_SAMPLER,
    FSDP,
    MODULE,
    canonical,
    hints_rank,
)
from ddplint.engine.values import (
    FALSE,
    NONE,
    TRUE,
    Atom,
    Bound,
    Class,
    Const,
    Func,
    Lib,
    ModuleRef,
    Obj,
    Partial,
    Ranked,
    Super,
    Sym,
    Value,
    blend,
    boolean,
    by_groups,
    const,
    one,
    spelled,
    split,
    under,
    union,
)

RANKS = Ranked(tuple(range(WORLD)), "rank")
LOCAL = Ranked(tuple(range(PER_NODE)) * NODES, "local rank")
NODE = Ranked(tuple(rank // PER_NODE for rank in range(WORLD)), "node rank")
SIZE = Ranked((WORLD,) * WORLD, "world size")
LOCAL_SIZE = Ranked((PER_NODE,) * WORLD, "local world size")

_ENVIRONMENT = {
    "RANK": RANKS,
    "SLURM_PROCID": RANKS,
    "OMPI_COMM_WORLD_RANK": RANKS,
    "PMI_RANK": RANKS,
    "LOCAL_RANK": LOCAL,
    "SLURM_LOCALID": LOCAL,
    "OMPI_COMM_WORLD_LOCAL_RANK": LOCAL,
    "MPI_LOCALRANKID": LOCAL,
    "GROUP_RANK": NODE,
    "NODE_RANK": NODE,
    "SLURM_NODEID": NODE,
    "WORLD_SIZE": SIZE,
    "SLURM_NTASKS": SIZE,
    "SLURM_NPROCS": SIZE,
    "OMPI_COMM_WORLD_SIZE": SIZE,
    "PMI_SIZE": SIZE,
    "LOCAL_WORLD_SIZE": LOCAL_SIZE,
}
_LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")

_IN_SIGHT = {
    "builtins", "torch", "torchvision", "torchaudio", "numpy", "tqdm", "math", "time", "os", "sys", "logging",
    "itertools", "functools", "collections", "typing", "random", "json", "pickle", "copy", "contextlib", "argparse",
    "pathlib", "datetime", "wandb", "tensorboard", "tensorboardX", "operator", "warnings", "shutil", "re", "string",
    "types", "enum", "dataclasses", "io", "gc", "subprocess", "socket", "tempfile", "uuid", "hashlib", "inspect",
    "abc", "yaml", "csv", "glob", "pprint", "traceback", "signal", "threading", "queue", "multiprocessing", "rich",
    "sklearn", "scipy", "pandas", "matplotlib", "PIL", "cv2", "einops", "safetensors", "transformers", "timm", "attr",
    "weakref", "struct", "textwrap", "statistics", "heapq", "bisect", "platform", "psutil", "loguru", "omegaconf",
    "torchmetrics", "torchinfo", "apex",
}  # fmt: skip
"""Libraries that do not change how a loader is sharded or a sampler is told its epoch."""

_WITH_OPTIMIZERS = {"transformers", "apex", "timm", "bitsandbytes", "torch_optimizer"}
_OPTIMIZER = re.compile(r"^[A-Z]\w*(?:Adam|SGD|LAMB|Lamb|LARS|Lion)|^(?:Adam|Adafactor|SGD|LAMB|Lamb|LARS|Lion|Ranger)\w*$")
"""Classes that other libraries add to torch's optimizers."""

_DATA_ROOTS = {"torch", "torchvision", "torchaudio", "numpy", "builtins", "sklearn", "pandas", "datasets", "transformers"}

_CACHE_NAMES = {"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange", "rich.progress.track"}


# ------------------------------------------------------------------- look-ups


def builtin(name: str) -> Value:
    if name in ("True", "False", "None"):
        return const({"True": True, "False": False, "None": None}[name])
    if name in _BUILTINS:
        return one(Lib(f"builtins.{name}"))
    return one(Sym(f"name {name}", ranked=hints_rank(name)))


_BUILTINS = frozenset(
    "print len int float bool str bytes isinstance issubclass hasattr getattr setattr delattr range enumerate zip iter "
    "next list tuple dict set frozenset sorted reversed map filter min max sum any all abs round vars type super open "
    "callable id repr property staticmethod classmethod exit quit globals locals input format divmod pow object "
    "Exception ValueError TypeError RuntimeError KeyError StopIteration NotImplementedError ImportError OSError "
    "AssertionError IndexError AttributeError FileNotFoundError KeyboardInterrupt BaseException hash ord chr dir "
    "slice bytearray memoryview complex hex oct bin eval exec compile __import__ NotImplemented Ellipsis".split()
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


def star(module: str, name: str) -> str | None:
    """The full name that ``from module import *`` gives to ``name``, where it is known to."""
    return canonical(f"{module}.{name}") if name in _STAR_NAMES.get(module, ()) else None


def constant(name: str) -> Value | None:
    """A library attribute that is a value."""
    if name == "os.environ":
        return one(_ENVIRON)
    if name == "sys.argv":
        return one(Sym("sys.argv", opaque=False))
    if name.startswith("torch.") and name.rsplit(".", 1)[-1] in _DTYPES and name.count(".") == 1:
        return one(Sym(name, opaque=False))
    return None


_ENVIRON = Obj(0, "environ", None, {})
_DTYPES = {"float16", "float32", "float64", "bfloat16", "half", "float", "double", "int64", "int32", "long", "bool"}


def environment(m: Machine, name: Any) -> Value:
    stored = m.sym_attrs.get(f"environ[{name!r}]")
    known = _ENVIRONMENT.get(name) if isinstance(name, str) else None
    if known is not None:
        return one(Ranked(tuple(str(value) for value in known.values), known.role))
    if stored is not None:
        return stored
    return one(Sym(f"environ[{name!r}]", ranked=isinstance(name, str) and hints_rank(name)))


def in_environment(name: Atom) -> tuple[Path, Path]:
    if isinstance(name, Const) and name.value in _LAUNCHED:
        return ALWAYS, NEVER
    key = Key(f"{name.key} in os.environ")
    return fact(key, True), fact(key, False)


_SINGLES_OUT = re.compile(r"main|master|chief|leader|primary|zero|root|first", re.IGNORECASE)
"""In the name of a switch: a launcher may give it to one process alone."""
_RANK_OPTIONS = {"local_rank": LOCAL, "local_process_index": LOCAL}


def option(m: Machine, namespace: Obj, name: str) -> Value:
    """An attribute of what the command line was parsed to."""
    known: dict[str, Any] = namespace.notes.get("options", {})
    if name in _RANK_OPTIONS:
        return one(_RANK_OPTIONS[name])
    if name in namespace.notes.get("switches", ()) and not _SINGLES_OUT.search(name):
        return one(Sym(f"option {name} of {namespace.key}"))
    default = known.get(name)
    if isinstance(default, Value) and default.constant() not in (None, ...) and name in namespace.notes.get("plain", ()):
        m.given_options.add(f"option {name} of {namespace.key}")
    if name in known and known[name] is not None:
        flag = known[name]
        return one(Sym(f"option {name} of {namespace.key}", ranked=hints_rank(name), opaque=True, made_of=frozenset()) if flag else Sym(f"option {name} of {namespace.key}", ranked=hints_rank(name)))
    return one(Sym(f"option {name} of {namespace.key}", ranked=hints_rank(name)))


# ----------------------------------------------------------------- making things


def kind_of(cls: Class) -> str:
    """What an instance of a project's class is, by the library classes it derives from."""
    kind = "instance"
    for base in cls.mro():
        if not isinstance(base, Lib):
            continue
        name = base.name
        if name == DDP:
            return "ddp"
        if name == DISTRIBUTED_SAMPLER:
            return "sampler"
        if name == DATA_LOADER:
            return "loader"
        if name in (FSDP, DATA_PARALLEL):
            return "dp"
        if name.startswith("torch.optim.") and name.rsplit(".", 1)[-1] != "_LRScheduler" and "lr_scheduler" not in name:
            kind = "optimizer"
        elif name == MODULE or (name.startswith("torch.nn.") and name[9:10].isupper()):
            kind = "module"
        elif name.rsplit(".", 1)[-1] in ("Module", "PreTrainedModel", "LightningModule", "ModelMixin"):
            kind = "module"
    return kind


_WORTH_IN_CLASS = (b"DDP", b"DistributedDataParallel", b"optim", b"DataLoader", b"torch.save")
_WORTH_IN_INIT = (b".cuda(", b".to(", b".double(", b".half(", b"no_sync", b"Parallel", b"spread", b"wrap")


def worth_making(made: Obj, cls: Class) -> bool:
    """Whether running the constructor of a network, a dataset or an optimizer can show anything."""
    if made.kind == "optimizer":
        return False
    if made.kind != "module" and not _is_dataset(cls):
        return True
    known = getattr(cls.node, "_worth_making", None)
    if known is None:
        known = any(_speaks(step) for step in cls.mro() if isinstance(step, Class))
        cls.node._worth_making = known  # type: ignore[attr-defined]
    return bool(known)


def _is_dataset(cls: Class) -> bool:
    return any(isinstance(b, Lib) and b.name.startswith("torch.utils.data.") and b.name.endswith("Dataset") for b in cls.mro())


def _speaks(cls: Class) -> bool:
    module = cls.home.module
    if module is None:
        return False
    lines = module.source.split(b"\n")
    text = b"\n".join(lines[cls.node.lineno - 1 : cls.node.end_lineno])
    if any(word in text for word in _WORTH_IN_CLASS):
        return True
    for statement in cls.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            text = b"\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            return any(word in text for word in _WORTH_IN_INIT)
    return False


def born(m: Machine, made: Obj) -> None:
    """Note under which device context a module is made."""
    if made.kind == "module" and (
        any(entry.kind == "device" for entry in m.around) or m.sym_attrs.get("default device") is not None
    ):
        made.notes["placed"] = True


def initialise(m: Machine, made: Obj, args: Arguments, node: ast.AST | None) -> None:
    """A library's own ``__init__`` on an object."""
    made.notes["initialised"] = True
    match made.kind:
        case "ddp":
            wrap(m, made, args, node)
        case "dp":
            inner = args.get(0, "module", "model")
            if inner is not None:
                made.attrs["module"] = inner
        case "loader":
            for number, name in enumerate(("dataset", "batch_size", "shuffle", "sampler", "batch_sampler")):
                value = args.get(number, name)
                if value is not None:
                    made.attrs[name] = value
            if (generator := args.get(None, "generator")) is not None:
                made.attrs["generator"] = generator
        case "sampler":
            names = ("dataset", "num_replicas", "rank", "shuffle", "seed", "drop_last")
            for number, name in enumerate(names):
                value = args.get(number, name)
                if value is not None:
                    made.attrs[name] = value
        case _:
            pass


def wrap(m: Machine, made: Obj, args: Arguments, node: ast.AST | None) -> None:
    inner = args.get(0, "module", "model")
    if inner is None:
        inner = one(Sym("module"))
    made.attrs["module"] = inner
    site = made.site if made.site is not None else (m.site(node) if node is not None else None)
    if site is None:
        return
    moved = [e for e in m.trace.of(facts.Move) if any(holds(e.module, a) for a in inner.atoms())]
    ids = args.get(1, "device_ids") or NONE
    frames, chain = m.frames, made.notes["chain"]
    event = m.record(facts.Wrap, site, wrapper=made, inner=inner, device_ids=ids, moved=tuple(moved))
    event.chain = chain if frames else ()
    made.notes["wrap"] = event
    if (buffers := args.get(None, "broadcast_buffers")) is not None:
        made.notes["broadcast_buffers"] = buffers


def holds(outer: Atom, inner: Atom, depth: int = 3) -> bool:
    """Whether ``inner`` is ``outer`` or lies in it."""
    if outer is inner:
        return True
    if not isinstance(outer, Obj) or depth == 0:
        return False
    return any(holds(atom, inner, depth - 1) for value in outer.attrs.values() for atom in value.atoms())


def attribute_was_set(m: Machine, thing: Obj, name: str, value: Value, node: ast.AST) -> None:
    if thing.kind == "ddp":
        m.record(facts.Toggle, node, wrapper=thing, name=name, value=value)
    elif thing.kind == "sampler" and name == "epoch":
        m.record(facts.SetEpoch, node, sampler=thing, epoch=value)
    elif name == "epoch" and thing.kind == "instance" and (m.frame.me is not thing or _is_sampler(thing)):
        m.record(facts.SetEpoch, node, sampler=thing, epoch=value)


def _is_sampler(thing: Obj) -> bool:
    return isinstance(thing.cls, Class) and any(isinstance(b, Lib) and b.name.endswith("Sampler") for b in thing.cls.mro())


# -------------------------------------------------------------------- attributes

_METHODS = {
    "module": frozenset(
        "to cuda cpu half float double bfloat16 xpu type train eval requires_grad_ apply share_memory parameters "
        "named_parameters modules named_modules children named_children buffers state_dict load_state_dict zero_grad "
        "forward __call__ no_sync save_pretrained to_empty add_module register_buffer keys values items append "
        "gradient_checkpointing_enable named_buffers register_comm_hook join update get_parameter save".split()
    ),
    "dict": frozenset("items keys values get pop update setdefault copy clear popitem __getitem__".split()),
    "list": frozenset("append extend pop insert remove index count sort reverse copy clear".split()),
}
_METHODS["ddp"] = _METHODS["dp"] = _METHODS["module"]
_METHODS["tuple"] = frozenset({"index", "count", "_asdict", "_replace"})
_METHODS["set"] = frozenset("add update discard remove".split())


def has_method(thing: Obj, name: str) -> bool:
    if thing.kind in ("instance", "namespace", "field"):
        return False
    if isinstance(thing.cls, Class) and thing.kind in ("ddp", "module", "dp"):
        return name in _METHODS["module"] and name not in ("save", "append", "keys", "values", "items", "update", "join")
    if thing.kind in _METHODS:
        return name in _METHODS[thing.kind]
    return name in ("set_epoch", "__iter__", "__len__") if thing.kind == "sampler" else False


def attribute(m: Machine, thing: Obj, name: str) -> Value | None:
    """An attribute that a library object has without anybody setting it."""
    match thing.kind, name:
        case ("loader", "sampler"):
            return None if isinstance(thing.cls, Class) and thing.cls.lookup(name) else loader_sampler(m, thing)
        case ("loader", "batch_sampler"):
            made = thing.notes.get("own batch sampler")
            if made is None:
                made = m.new("instance", thing.site, Lib("torch.utils.data.BatchSampler"))
                made.attrs["sampler"] = loader_sampler(m, thing)
                thing.notes["own batch sampler"] = made
            return one(made)
        case ("dispatch", "register"):
            return one(Bound(thing, name, None))
        case ("loader", "dataset"):
            return one(Sym(f"dataset of {thing.key}"))
        case ("sampler", "epoch"):
            return const(0)
        case ("ddp" | "dp" | "module", "_orig_mod"):
            return one(thing)
        case ("device", "type"):
            return one(Sym(f"type of {thing.notes['value']}", opaque=False))
        case ("ddp", "device"):
            return one(Sym(f"{thing.key}.device", ranked=True))
        case ("path", "parent" | "name" | "stem" | "suffix"):
            return one(m.new("path", thing.site, value=one(blend(name, [thing.notes["value"]]))))
        case _:
            return None


def loader_sampler(m: Machine, loader: Obj) -> Value:
    """What ``loader.sampler`` is: the sampler given, or the one torch makes."""
    batched = loader.attrs.get("batch_sampler")
    given = loader.attrs.get("sampler")
    if batched is not None and any(not (isinstance(a, Const) and a.value is None) for a in batched.atoms()):
        return one(m.new("instance", loader.site, Lib("torch.utils.data.SequentialSampler")))
    if given is None:
        return one(m.new("instance", loader.site, Lib("torch.utils.data.RandomSampler")))
    kept = []
    for case, atom in given.alternatives:
        if isinstance(atom, Const) and atom.value is None:
            kept.append((case, m.new("instance", loader.site, Lib("torch.utils.data.RandomSampler"))))
        else:
            kept.append((case, atom))
    return Value(tuple(kept))


# ------------------------------------------------------------------------- calls

Handler = Callable[[Machine, str, Arguments, "ast.AST | None"], Value]
_CALLS: dict[str, Handler] = {}


def _handles(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            _CALLS[name] = handler
        return handler

    return register


def call(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A call of a library's function or class."""
    handler = _CALLS.get(name)
    if handler is not None:
        return handler(m, name, args, node)
    root = name.split(".", 1)[0]
    owner, _, last = name.rpartition(".")
    if owner in (DDP, DISTRIBUTED_SAMPLER, MODULE) and args.positional and not last.startswith("__"):
        rest = Arguments(args.positional[1:], args.keywords, args.rest, args.more)
        return m.choose(args.positional[0], lambda me: method(m, me, last, rest, node))
    if name.startswith("torch.distributed.") and last in _COLLECTIVES:
        return _collective(m, name, args, node)
    if name.startswith("torch.nn.") and last[:1].isupper() and "functional" not in name and "init" not in name:
        return _library_module(m, name, args, node)
    if name.startswith("torch.optim.") and last[:1].isupper() and "lr_scheduler" not in name:
        return one(m.new("optimizer", node, Lib(name)))
    if root in _WITH_OPTIMIZERS and _OPTIMIZER.search(last):
        return one(m.new("optimizer", node, Lib(name)))
    if name.startswith(("torchvision.models.", "timm.create_model", "timm.models.")) or last == "from_pretrained":
        made = m.new("module", node, Lib(name))
        born(m, made)
        return one(made)
    if last in ("save_file", "save_model") and root == "safetensors":
        return _save(m, "safetensors", args.get(1, "filename"), args.get(0, "tensors", "model"), node)
    if root == "accelerate" or root in ("lightning", "pytorch_lightning", "deepspeed", "ignite", "horovod", "fabric"):
        escape(m, args, node)
        if (parser := given_parser(args)) is not None:
            return parser
        return one(Sym(f"{name} result", made_of=frozenset({UNSEEN, "framework"})))
    if root not in _IN_SIGHT:
        return opaque_call(m, Lib(name), args, node)
    for value in args.all():
        for atom in value.atoms():
            if isinstance(atom, Func | Bound) and last in ("run", "apply", "map", "submit"):
                call_back(m, atom, node)
    given = [*args.positional, *(v for k, v in args.keywords.items() if k != "device"), *args.rest, *args.more]
    ranked = any(v.per_rank for v in given) or last in _DIFFERS
    result = blend(f"{name}@{_at(node)}" if last[:1].isupper() else name, args.all(), opaque=False)
    kept = frozenset(p for p in result.made_of if not (isinstance(p, Obj) and p.kind in ("optimizer",)))
    return one(Sym(result.text, ranked, False, root not in _DATA_ROOTS and result.opaque, kept))


_DIFFERS = {"getpid", "gethostname", "uuid4", "uuid1", "mkdtemp", "mkstemp", "node", "current_device"}


def _at(node: ast.AST | None) -> str:
    return f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"


def _first(args: Arguments) -> Value:
    return args.positional[0] if args.positional else next(iter(args.keywords.values()), NONE)


# distributed ---------------------------------------------------------------

_COLLECTIVES = {
    "barrier", "all_reduce", "all_gather", "broadcast", "reduce", "gather", "scatter", "reduce_scatter", "all_to_all",
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "all_gather_into_tensor",
    "reduce_scatter_tensor", "monitored_barrier", "all_to_all_single", "all_reduce_coalesced",
}  # fmt: skip


def _collective(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    last = name.rsplit(".", 1)[-1]
    group = args.get({"barrier": 0, "all_reduce": 2, "all_gather": 2, "broadcast": 2, "reduce": 3}.get(last), "group")
    tensors = union(args.positional[:2]) if args.positional else NONE
    if node is not None:
        m.record(facts.Collective, node, name=last, tensors=tensors, group=group)
    if last == "scatter_object_list" and args.positional:
        for atom in args.positional[0].atoms():
            if isinstance(atom, Obj) and atom.kind == "list":
                m.write(atom.attrs, "[0]", one(Sym("scattered part", ranked=True, made_of=tensors.taint)))
    return one(Sym(f"{last} handle", opaque=False))


@_handles("torch.distributed.get_rank")
def _get_rank(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    group = args.get(0, "group")
    if group is not None and group.constant() is not None:
        return one(Sym(f"rank in {group.key}", ranked=True, opaque=False))
    return one(RANKS)


@_handles("torch.distributed.get_node_local_rank")
def _local(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(LOCAL)


@_handles("torch.distributed.get_world_size")
def _world(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(SIZE)


@_handles("torch.distributed.init_process_group")
def _join(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    size = args.get(3, "world_size")
    if node is not None and size is not None:
        m.record(facts.Join, node, size=size)
    return NONE


@_handles(
    "torch.distributed.is_initialized",
    "torch.distributed.is_available",
    "torch.distributed.is_torchelastic_launched",
    "torch.distributed.is_nccl_available",
)
def _true(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return TRUE


@_handles("torch.cuda.is_available")
def _cuda(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(Sym("cuda is available", opaque=False))


@_handles("torch.cuda.device_count")
def _devices(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(Sym("device count", opaque=False))


@_handles("torch.distributed.new_group", "torch.distributed.split_group")
def _group(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("group", node, Lib(name)))


@_handles(
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.start_processes",
    "torch.multiprocessing.spawn.spawn",
    "torch.multiprocessing.spawn.start_processes",
)
def _spawn(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    target = args.get(0, "fn")
    given = args.get(1, "args")
    passed = exact_elements(given) if given is not None else []
    _start(m, target, [one(LOCAL), *(passed or [])], node, rest=[given] if passed is None and given else [])
    return NONE


@_handles("torch.multiprocessing.Process", "multiprocessing.Process", "multiprocessing.context.Process")
def _process(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    target, given = args.get(1, "target"), args.get(3, "args")
    passed = exact_elements(given) if given is not None else []
    if target is not None and any(isinstance(a, Func | Bound) for a in target.atoms()):
        ranked = [one(LOCAL) if value.counter else value for value in passed or []]
        if any(value.counter for value in passed or []):
            _start(m, target, ranked, node)
        else:
            apply_quietly(m, target, ranked, node)
    return one(Sym("process", opaque=False))


def _start(
    m: Machine, target: Value | None, passed: list[Value], node: ast.AST | None, rest: list[Value] | None = None
) -> None:
    from ddplint.engine.calls import apply

    if target is None or node is None:
        return
    m.record(facts.Spawn, node)
    m.workers += 1
    before, loops, m.loops = m.path, m.loops, []
    try:
        apply(m, target, Arguments(passed, rest=rest or []), node)
    finally:
        m.workers -= 1
        m.path, m.loops = before, loops


@_handles("threading.Thread")
def _thread(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("thread", node, Lib(name))
    made.notes["target"], made.notes["given"] = args.get(1, "target"), args.get(3, "args")
    return one(made)


def _thread_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    target, given = me.notes["target"], me.notes["given"]
    if name in ("start", "run") and target is not None:
        apply_quietly(m, target, (exact_elements(given) if given is not None else []) or [], node)
    return NONE


def apply_quietly(m: Machine, target: Value, passed: list[Value], node: ast.AST | None) -> None:
    from ddplint.engine.calls import apply

    before = m.path
    apply(m, target, Arguments(passed), node)
    m.path = before


# modules -------------------------------------------------------------------


@_handles(DDP)
def _ddp(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("ddp", node, Lib(DDP))
    wrap(m, made, args, node)
    return one(made)


@_handles(DATA_PARALLEL, FSDP)
def _other_wrapper(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("dp", node, Lib(name))
    made.attrs["module"] = args.get(0, "module") or one(Sym("module"))
    return one(made)


@_handles(
    "torch.compile",
    "torch._dynamo.optimize",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "apex.parallel.convert_syncbn_model",
    "torch.nn.utils.convert_sync_batchnorm",
    "typing.cast",
    "builtins.tuple",
)
def _same(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name == "typing.cast":
        return args.positional[1] if len(args.positional) > 1 else NONE
    if name == "builtins.tuple":
        return _collect(m, name, args, node)
    given = args.get(0, "model", "module")
    return given if given is not None else one(m.new("identity decorator", node))


@_handles("torch.jit.script", "torch.jit.trace", "torch.jit.freeze", "torch.jit.optimize_for_inference")
def _script(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    given = _first(args)
    if any(isinstance(a, Func) for a in given.atoms()):
        return given
    made = m.new("script", node, Lib(name))
    made.attrs["inner"] = given
    return one(made)


def _library_module(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    last = name.rsplit(".", 1)[-1]
    if last == "Parameter":
        return one(blend("parameter", args.all(), opaque=False))
    made = m.new("module", node, Lib(name))
    born(m, made)
    if last in ("Sequential", "ModuleList", "ModuleDict"):
        parts = args.positional
        if len(parts) == 1 and (known := exact_elements(parts[0])) is not None:
            parts = known
        elif len(parts) == 1 and isinstance(source := parts[0].only, Obj) and source.kind in ("dict", "list"):
            made.attrs.update(source.attrs)
            if source.notes.get("loose"):
                made.notes["loose"] = True
            parts = []
        for number, part in enumerate(parts):
            made.attrs[f"[{number}]"] = part
    return one(made)


@_handles("copy.deepcopy", "copy.copy")
def _copy(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    copied = []
    for case, atom in _first(args).alternatives:
        if isinstance(atom, Obj):
            twin = m.new(atom.kind, atom.site, atom.cls)
            twin.attrs.update(atom.attrs)
            twin.notes.update({k: v for k, v in atom.notes.items() if k not in ("chain", "loops", "worker")})
            twin.notes["copy of"] = atom
            if atom.kind == "ddp":
                inner = [a for a in atom.attrs["module"].atoms() if isinstance(a, Obj)] if "module" in atom.attrs else []
                if inner:
                    inner_twin = m.new(inner[0].kind, inner[0].site, inner[0].cls)
                    inner_twin.attrs.update(inner[0].attrs)
                    twin.attrs["module"] = one(inner_twin)
            copied.append((case, twin))
        else:
            copied.append((case, atom))  # type: ignore[arg-type]
    return Value(tuple(copied)) if copied else NONE  # type: ignore[arg-type]


@_handles("torch.set_default_device", "torch.set_default_tensor_type")
def _default_device(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    m.write(m.sym_attrs, "default device", _first(args))
    return NONE


@_handles("apex.amp.initialize")
def _amp(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    models, optimizers = args.get(0, "models"), args.get(1, "optimizers")
    if models is None or optimizers is None or optimizers.constant() is None:
        return models or one(Sym("models"))
    pair = m.new("tuple", node)
    pair.attrs["[0]"], pair.attrs["[1]"] = models, optimizers
    return one(pair)


@_handles("torch.device")
def _device(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if len(args.positional) == 1 and not args.keywords:
        given = args.positional[0]
        if isinstance(given.only, Sym) and not given.per_rank:
            return given
    made = blend("device", args.all(), opaque=False)
    device = m.new("device", node, value=made.text)
    index = args.get(1, "index")
    if index is not None:
        device.attrs["index"] = index
    elif made.ranked:
        device.attrs["index"] = one(LOCAL)
    else:
        device.attrs["index"] = NONE
    return one(device)


# data ----------------------------------------------------------------------


@_handles(DATA_LOADER)
def _loader(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("loader", node, Lib(DATA_LOADER), args=args)
    initialise(m, made, args, node)
    return one(made)


@_handles(DISTRIBUTED_SAMPLER)
def _sampler(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("sampler", node, Lib(DISTRIBUTED_SAMPLER), args=args)
    initialise(m, made, args, node)
    return one(made)


@_handles(
    "torch.utils.data.RandomSampler",
    "torch.utils.data.SequentialSampler",
    "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.BatchSampler",
)
def _plain_sampler(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("instance", node, Lib(name), args=args)
    generator = args.get(1 if "Subset" in name else 3, "generator")
    made.notes["repeats draws"] = _repeats_draws(name, args)
    given = [value for value in args.all() if value is not generator or made.notes["repeats draws"]]
    made.notes["per_rank"] = any(value.per_rank for value in given if not value.counter)
    first = args.get(0, "sampler", "data_source", "indices", "weights")
    if first is not None:
        made.attrs["sampler" if name.endswith("BatchSampler") else "source"] = first
    return one(made)


def _repeats_draws(name: str, args: Arguments) -> bool:
    """Whether the sampler may draw with replacement, so that seeds of their own make the ranks' draws differ."""
    if name.endswith("WeightedRandomSampler"):
        replacement = args.get(2, "replacement")
        return replacement is None or replacement.constant() is not False
    replacement = args.get(1, "replacement") if name.endswith(".RandomSampler") else None
    return replacement is not None and replacement.constant() is not False


@_handles("torch.utils.data.random_split")
def _random_split(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    generator = args.get(2, "generator")
    if node is not None:
        m.record(facts.Draw, node, how="random_split", generator=generator, what=_first(args))
    lengths = exact_elements(args.positional[1]) if len(args.positional) > 1 else None
    made = m.new("list", node)
    for number in range(len(lengths) if lengths else 3):
        part = blend(f"part {number} of", [_first(args)])
        made.attrs[f"[{number}]"] = one(Sym(part.text, part.ranked, False, part.opaque, part.made_of))
    return one(made)


@_handles("datasets.load_dataset", "datasets.load_from_disk")
def _load_dataset(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(blend(f"{name}@{_at(node)}", args.all(), opaque=False))


@_handles("torch.randperm")
def _randperm(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    generator = args.get(None, "generator")
    if node is not None:
        m.record(facts.Draw, node, how="randperm", generator=generator, what=_first(args))
    return one(blend("randperm", args.positional, opaque=False))


@_handles("torch.manual_seed", "random.seed", "numpy.random.seed")
def _seed(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        m.record(facts.Seed, node, generator=None, seed=_first(args))
    return one(Sym("generator", opaque=False))


@_handles("torch.Generator")
def _generator(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("rng", node, Lib(name)))


# files ---------------------------------------------------------------------


def _save(m: Machine, how: str, file: Value | None, content: Value | None, node: ast.AST | None) -> Value:
    if file is None or node is None:
        return NONE
    for case, atom in file.within(m.path).alternatives:
        path = conjoin(m.path, (case,))
        if isinstance(atom, Obj) and atom.kind == "file":
            opened = atom.notes.get("save")
            if opened is not None and content is not None:
                opened.content = union([opened.content, content]) if opened.content is not None else content
            continue
        if isinstance(atom, Obj) and atom.kind == "buffer":
            atom.attrs["*"] = content or NONE
            continue
        before, m.path = m.path, path
        m.record(facts.Save, node, how=how, file=_plain(one(atom)), content=content)
        m.path = before
    return NONE


@_handles("torch.save", "torch.jit.save")
def _torch_save(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(1, "f"), args.get(0, "obj", "m"), node)


@_handles("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt")
def _numpy_save(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(0, "file", "fname"), args.get(1, "arr", "X"), node)


@_handles("matplotlib.pyplot.savefig")
def _figure(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(0, "fname"), None, node)


@_handles("pickle.dump", "json.dump", "yaml.dump", "yaml.safe_dump", "dill.dump", "joblib.dump", "cPickle.dump")
def _dump(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    stream = args.get(1, "file", "fp", "stream", "filename")
    if stream is None:
        return one(blend(name, args.all(), opaque=False))
    if not any(isinstance(a, Obj) and a.kind in ("file", "buffer") for a in stream.atoms()) and name != "joblib.dump":
        return NONE
    return _save(m, name, stream, args.get(0, "obj", "data"), node)


@_handles("omegaconf.OmegaConf.save")
def _omega(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(1, "f"), None, node)


@_handles("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree", "os.rename", "os.replace")
def _file_copy(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(1, "dst"), None, node)


@_handles("os.remove", "os.unlink", "shutil.rmtree")
def _file_removed(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _save(m, name, args.get(0, "path"), None, node)


@_handles("builtins.open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open")
def _open(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    mode = args.get(1, "mode")
    return open_file(m, args.get(0, "file", "filename"), mode, node)


def open_file(m: Machine, file: Value | None, mode: Value | None, node: ast.AST | None) -> Value:
    made = m.new("file", node)
    file = _plain(file) if file is not None else None
    literal = mode.constant() if mode is not None else "r"
    if node is not None and file is not None:
        if isinstance(literal, str) and literal[:1] == "w":
            if not any(isinstance(a, Lib) and a.name == "os.devnull" for a in file.atoms()):
                made.notes["save"] = m.record(facts.Save, node, how="open", file=file, content=None, opened=True)
        elif isinstance(literal, str) and literal[:1] == "r":
            made.notes["load"] = m.record(facts.Load, node, file=file, how="open")
    return one(made)


@_handles("torch.load", "torch.jit.load", "numpy.load", "pickle.load", "json.load", "yaml.safe_load", "yaml.load",
          "yaml.full_load", "toml.load", "tomli.load", "tomllib.load", "hyperpyyaml.load_hyperpyyaml",
          "safetensors.torch.load_file")  # fmt: skip
def _load(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    file = _first(args)
    loads: set[Any] = set()
    content: list[Value] = []
    for atom in file.atoms():
        if isinstance(atom, Obj) and atom.kind == "file":
            if (opened := atom.notes.get("load")) is not None:
                loads.add(opened)
        elif isinstance(atom, Obj) and atom.kind == "buffer" and "*" in atom.attrs:
            content.append(atom.attrs["*"])
    if content:
        return union(content)
    if not loads and node is not None:
        placed = args.get(1, "map_location", "device") if name == "torch.load" else None
        loads.add(m.record(facts.Load, node, file=file, how=name, placed=placed))
    ranked = file.per_rank
    # what such a file holds is data, not settings: the same for all who read it
    opaque = name not in ("torch.load", "numpy.load")
    return one(Sym(f"loaded from {file.key}", ranked, False, opaque, frozenset(loads)))


@_handles("io.BytesIO", "io.StringIO", "tempfile.TemporaryFile", "tempfile.SpooledTemporaryFile")
def _buffer(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("buffer", node))


@_handles("tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory", "tempfile.mkdtemp", "tempfile.mkstemp",
          "tempfile.gettempdir", "tempfile.mktemp")  # fmt: skip
def _temporary(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("context", node, name="temporary")
    place = one(Sym(f"{name}@{_at(node)}", ranked=True, opaque=False))
    if name.endswith("mkdtemp") or name.endswith("gettempdir") or name.endswith("mktemp"):
        return place
    made.notes["entered"] = place
    made.attrs["name"] = place
    made.notes["per_rank"] = True
    return one(made)


@_handles("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
def _path(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("path", node, value=one(blend("path", args.all(), opaque=False)) if len(args.all()) != 1 else _plain(_first(args))))


def _plain(value: Value) -> Value:
    """A path as the text it stands for."""
    atom = value.only
    if isinstance(atom, Obj) and atom.kind == "path":
        return atom.notes["value"]  # type: ignore[no-any-return]
    return value


@_handles("os.path.join")
def _join(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return by_groups([_plain(part) for part in args.all()], _joined_path)


def _joined_path(parts: list[Value]) -> Value:
    literals = [part.constant() for part in parts]
    if literals and all(isinstance(literal, str) for literal in literals):
        return const("/".join(literals))
    return one(blend("join", parts))


@_handles("os.sep.join", "os.pathsep.join")
def _joined(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(blend(name, [draw(m, value) for value in args.positional], opaque=False))


# command lines ---------------------------------------------------------------


@_handles("argparse.ArgumentParser", "argparse.Namespace", "types.SimpleNamespace", "configargparse.ArgumentParser")
def _namespace(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name.endswith("ArgumentParser"):
        return one(m.new("parser", node, options={}))
    made = m.new("namespace", node)
    if name.endswith("SimpleNamespace") and not args.more:
        made.notes["closed"] = True
    for key, value in args.keywords.items():
        made.attrs[key] = value
    for value in args.more:
        for atom in value.atoms():
            if isinstance(atom, Obj):
                for key, inner in atom.attrs.items():
                    if key.startswith("['"):
                        made.attrs[key[2:-2]] = inner
    return one(made)


@_handles("builtins.vars")
def _vars(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    atom = _first(args).only
    if isinstance(atom, Obj):
        if atom.kind == "namespace":
            made = m.new("dict", node, namespace=atom, loose=True)
            for key, value in atom.attrs.items():
                made.attrs[f"[{key!r}]"] = value
            return one(made)
        return one(atom)
    return _first(args)


# builtins ------------------------------------------------------------------


@_handles("builtins.int", "builtins.float", "builtins.str", "builtins.bool", "builtins.abs", "builtins.round")
def _convert(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not args.positional:
        return const({"int": 0, "float": 0.0, "str": "", "bool": False}.get(name[9:]))
    convert = {"int": int, "float": float, "str": str, "bool": bool, "abs": abs, "round": round}[name[9:]]
    if name == "builtins.bool":
        yes, no = split(args.positional[0])
        return boolean(yes, no)

    def of(atom: Atom) -> Value:
        if isinstance(atom, Const):
            try:
                return one(Const(convert(atom.value), atom.soft))  # type: ignore[operator]
            except Exception:
                return one(Sym(f"{name}({atom.key})", opaque=False))
        if isinstance(atom, Ranked):
            try:
                return one(Ranked(tuple(convert(value) for value in atom.values), atom.role))  # type: ignore[operator]
            except Exception:
                return one(Sym(f"{name}({atom.key})", ranked=True, opaque=False))
        if isinstance(atom, Obj) and atom.kind == "path":
            return atom.notes["value"]  # type: ignore[no-any-return]
        if isinstance(atom, Sym):
            return one(atom)
        return one(blend(name, spelled(one(atom))))

    return m.choose(args.positional[0], of)


@_handles("builtins.type")
def _type(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    def of(atom: Atom) -> Value:
        if isinstance(atom, Obj) and atom.cls is not None:
            return one(atom.cls)
        if isinstance(atom, Const):
            return one(Lib(f"builtins.{type(atom.value).__name__}"))
        return one(Sym(f"type({atom.key})", opaque=True))

    return m.choose(_first(args), of)


def classes(value: Value) -> list[Atom]:
    """The classes that the second argument of ``isinstance`` names."""
    wanted: list[Atom] = []
    for atom in value.atoms():
        known = exact_elements(one(atom))
        if known is None:
            wanted.append(atom)
        else:
            wanted += [inner for value in known for inner in value.atoms()]
    return wanted


@_handles("builtins.isinstance", "builtins.issubclass")
def _isinstance(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if len(args.positional) < 2:
        return TRUE
    wanted = classes(args.positional[1])

    def of(atom: Atom) -> Value:
        answers = [is_instance(atom, cls) for cls in wanted]
        if any(answer is True for answer in answers):
            return TRUE
        if all(answer is False for answer in answers):
            return FALSE
        key = Key(f"isinstance({atom.key}, {'|'.join(c.key for c in wanted)})", False)
        return boolean(fact(key, True), fact(key, False))

    return m.choose(args.positional[0], of)


_KIND_CLASSES = {
    "ddp": {DDP, MODULE},
    "dp": {MODULE},
    "module": {MODULE},
    "sampler": {DISTRIBUTED_SAMPLER, "torch.utils.data.Sampler"},
    "loader": {DATA_LOADER},
    "dict": {"builtins.dict", "collections.abc.Mapping", "typing.Mapping", "collections.OrderedDict", "typing.Dict"},
    "list": {"builtins.list", "collections.abc.Sequence", "typing.Sequence", "typing.List"},
    "tuple": {"builtins.tuple", "collections.abc.Sequence", "typing.Sequence", "typing.Tuple"},
    "set": {"builtins.set"},
    "path": {"pathlib.Path", "pathlib.PurePath"},
    "optimizer": {"torch.optim.Optimizer", "torch.optim.optimizer.Optimizer"},
    "namespace": {"argparse.Namespace"},
}


def is_instance(atom: Atom, cls: Atom) -> bool | None:
    """Whether it is one; None where that cannot be told."""
    if isinstance(cls, Sym):
        return None
    if isinstance(atom, Const):
        if isinstance(cls, Lib) and cls.name.startswith("builtins."):
            return type(atom.value).__name__ == cls.name[9:] or (cls.name == "builtins.int" and isinstance(atom.value, bool))
        return False
    if isinstance(atom, Ranked):
        return isinstance(cls, Lib) and cls.name == f"builtins.{type(atom.values[0]).__name__}"
    if not isinstance(atom, Obj):
        return None if isinstance(atom, Sym) else False
    own: set[str] = set(_KIND_CLASSES.get(atom.kind, ()))
    if isinstance(atom.cls, Class):
        for base in atom.cls.mro():
            if base is cls:
                return True
            if isinstance(base, Lib):
                own.add(base.name)
        if isinstance(cls, Lib) and cls.name in own:
            return True
        if atom.cls.opaque_base:
            return None
        if isinstance(cls, Class):
            return False
        if any(isinstance(b, Lib) and b.name.split(".")[0] not in ("torch", "builtins", "typing", "abc") for b in atom.cls.mro()):
            return None
        return False
    if isinstance(atom.cls, Lib):
        own.add(atom.cls.name)
        if atom.cls.name.endswith("Sampler") and atom.cls.name.startswith("torch."):
            own.add("torch.utils.data.Sampler")
    if isinstance(cls, Lib) and cls.name in own:
        return True
    if atom.kind in ("instance", "module") and isinstance(atom.cls, Lib) and not atom.cls.name.startswith("torch"):
        return None
    if isinstance(cls, Lib) and cls.name.split(".")[0] not in ("torch", "builtins", "apex", "collections", "typing"):
        return False if atom.kind in ("ddp", "loader", "sampler") else None
    return False


@_handles("builtins.hasattr")
def _hasattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    literal = args.positional[1].constant() if len(args.positional) > 1 else ...
    if not isinstance(literal, str):
        return one(blend("hasattr", args.all()))

    def of(atom: Atom) -> Value:
        answer = has(atom, literal)
        if answer is not None:
            return const(answer)
        key = Key(f"hasattr({atom.key}, {literal})", False)
        return boolean(fact(key, True), fact(key, False))

    return m.choose(args.positional[0], of)


def has(atom: Atom, name: str) -> bool | None:
    """Whether it has the attribute; None where that cannot be told."""
    if isinstance(atom, Const | Ranked):
        return None if isinstance(atom, Const) and atom.value is not None else False
    if isinstance(atom, Obj):
        if name in atom.attrs:
            return True
        if isinstance(atom.cls, Class):
            if atom.cls.lookup(name) is not None:
                return True
            if atom.cls.opaque_base or atom.cls.lookup("__getattr__") is not None:
                return None
        if has_method(atom, name) and name != "no_sync":
            return True
        if name == "module":
            return True if atom.kind in ("ddp", "dp") else (False if atom.kind == "module" else None)
        if name == "no_sync":
            return atom.kind == "ddp" if atom.kind in ("ddp", "module", "dp") else None
        if name == "set_epoch":
            if atom.kind == "sampler":
                return True
            if atom.kind == "loader" or (isinstance(atom.cls, Lib) and atom.cls.name.startswith("torch.utils.data")):
                return False
            if isinstance(atom.cls, Class) and atom.kind == "instance":
                return False
        if name in ("state_dict", "step", "zero_grad"):
            return True if atom.kind in ("module", "ddp", "dp", "optimizer") else None
        if name == "sampler" and atom.kind == "loader" or name == "batch_sampler" and atom.kind == "loader":
            return True
        if atom.kind == "dict":
            return False
        return None
    return None


@_handles("builtins.getattr")
def _getattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.expressions import attribute as read

    if len(args.positional) < 2:
        return one(Sym("getattr"))
    literal = args.positional[1].constant()
    if not isinstance(literal, str):
        owner = args.positional[0].only
        if isinstance(owner, Lib):
            return one(blend(f"{owner.name} by name", [args.positional[1]], opaque=True))
        return one(blend("getattr", args.all(), opaque=True))
    default = args.positional[2] if len(args.positional) > 2 else None

    def of(atom: Atom) -> Value:
        answer = has(atom, literal)
        if answer is False and default is not None:
            return default
        found = read(m, one(atom), literal, None)
        if answer is None and default is not None and isinstance(atom, Sym | Obj):
            if isinstance(atom, Obj) and atom.kind == "namespace" and literal not in atom.attrs:
                return found
            key = Key(f"hasattr({atom.key}, {literal})", False)
            return union([under(found, fact(key, True)), under(default, fact(key, False))])
        if literal == "set_epoch" and isinstance(atom, Obj) and atom.kind == "sampler":
            return one(Bound(atom, "set_epoch", None)) if not isinstance(atom.cls, Class) or atom.cls.lookup("set_epoch") is None else found
        return found

    return m.choose(args.positional[0], of)


@_handles("builtins.setattr")
def _setattr(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    literal = args.positional[1].constant() if len(args.positional) > 2 else ...
    for atom in args.positional[0].atoms() if args.positional else ():
        if isinstance(atom, Obj) and isinstance(literal, str):
            m.write(atom.attrs, literal, args.positional[2])
            if node is not None:
                attribute_was_set(m, atom, literal, args.positional[2], node)
    return NONE


@_handles("builtins.range", "builtins.len", "itertools.count", "tqdm.trange", "tqdm.auto.trange")
def _range(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if name == "builtins.len":
        given = _first(args)
        atom = given.only
        if isinstance(atom, Obj) and atom.kind in ("list", "tuple", "dict") and not atom.notes.get("loose"):
            return const(len(atom.attrs))
        length = blend("len", [given], opaque=False)
        return one(Sym(length.text, length.ranked, True, length.opaque, frozenset()))
    made = m.new("range", node)
    if name != "itertools.count" and len(args.positional) > 1:
        # each rank begins at a number of its own, or takes steps of its own
        made.notes["per_rank"] = any(value.per_rank for value in (args.positional[0], *args.positional[2:]))
    literals = [value.constant() for value in args.positional]
    if name == "itertools.count":
        made.notes["endless"] = True
    elif literals and all(isinstance(x, int) for x in literals) and not _soft(args.positional):
        try:
            numbers = range(*literals)
        except (TypeError, ValueError):
            numbers = range(2)
        made.notes["length"] = len(numbers)
        made.notes["start"] = numbers[0] if numbers else 0
    return one(made)


def _soft(values: list[Value]) -> bool:
    return any(isinstance(atom, Const) and atom.soft for value in values for atom in value.atoms())


def iterable(m: Machine, node: ast.AST | None, drive: Callable[..., None]) -> Value:
    made = m.new("iterable", node, drive=drive)
    return one(made)


@_handles("builtins.enumerate")
def _enumerate(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = _first(args)

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        def step(element: Value) -> None:
            mark = m.loops[-1].mark if m.loops else ""
            pair = m.new("tuple", spot)
            pair.attrs["[0]"] = one(Sym(f"number {mark}", counter=True, opaque=False))
            pair.attrs["[1]"] = element
            body(one(pair))

        iterate(m, where, spot, source, step)

    return iterable(m, node, drive)


@_handles("builtins.zip")
def _zip(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    sources = args.positional
    if args.rest or not sources:
        return one(blend("zip", args.all()))

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        lead = next((i for i, s in enumerate(sources) if any(_is_loader(a) for a in s.atoms())), 0)
        others: dict[int, Value] = {}
        for number, source in enumerate(sources):
            if number != lead:
                for atom in source.atoms():
                    if _is_loader(atom):
                        m.record(facts.Iterate, spot, loader=atom, grad=m.grad)
                others[number] = draw(m, source)

        def step(element: Value) -> None:
            row = m.new("tuple", spot)
            for number in range(len(sources)):
                row.attrs[f"[{number}]"] = element if number == lead else others[number]
            body(one(row))

        iterate(m, where, spot, sources[lead], step)

    return iterable(m, node, drive)


def _is_loader(atom: Atom) -> bool:
    return isinstance(atom, Obj) and atom.kind == "loader"


@_handles(
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.std.tqdm", "tqdm.rich.tqdm", "rich.progress.track",
    "itertools.islice", "tqdm.tqdm_notebook", "tqdm.asyncio.tqdm", "tqdm.autonotebook.tqdm",
)  # fmt: skip
def _through(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = args.get(0, "iterable", "sequence")
    if source is None:
        return one(Sym("progress bar", opaque=False))
    if "tqdm" in name and not any(isinstance(a, Obj) for a in source.atoms()):
        return source
    return iterable(m, node, lambda m, where, spot, body: iterate(m, where, spot, source, body))


@_handles("itertools.cycle", "itertools.repeat")
def _cycle(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    source = _first(args)
    if name == "itertools.repeat":
        return iterable(m, node, lambda m, where, spot, body: m.loop(where, lambda turn: body(source) and None))

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        _replayed(m, source, spot, "itertools.cycle")
        element = draw(m, source)
        over = frozenset(a for a in source.atoms() if isinstance(a, Obj) and a.kind == "loader")
        m.loop(where, lambda turn: body(element) and None, over=over)

    return iterable(m, node, drive)


def _replayed(m: Machine, source: Value, spot: ast.AST, how: str) -> None:
    for atom in source.atoms():
        if _is_loader(atom):
            m.record(facts.Iterate, spot, loader=atom, grad=m.grad, replay=how)


@_handles("itertools.chain", "itertools.chain.from_iterable")
def _chain(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    sources = args.positional

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        for source in sources:
            if name.endswith("from_iterable"):
                iterate(m, where, spot, source, lambda element: iterate(m, where, spot, element, body))
            else:
                iterate(m, where, spot, source, body)

    return iterable(m, node, drive)


@_handles("builtins.any", "builtins.all")
def _any(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    elements = exact_elements(_first(args))
    if elements is None:
        return one(blend(name, args.all(), opaque=False))
    every, some = (NEVER, ALWAYS) if name == "builtins.any" else (ALWAYS, NEVER)
    for element in elements:
        yes, no = split(element)
        every = disjoin(every, yes) if name == "builtins.any" else conjoin(every, yes)
        some = conjoin(some, no) if name == "builtins.any" else disjoin(some, no)
    return boolean(every, some)


@_handles("builtins.map", "builtins.filter")
def _map(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.calls import apply

    if len(args.positional) < 2:
        return one(Sym(name))
    function, source = args.positional[:2]
    keeps = name == "builtins.filter"

    def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
        def step(element: Value) -> None:
            result = apply(m, function, Arguments([element]), spot)
            body(element if keeps else result)

        iterate(m, where, spot, source, step)

    return iterable(m, node, drive)


@_handles("builtins.iter")
def _iter(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.calls import apply
    from ddplint.engine.expressions import method as project_method

    def of(atom: Atom) -> Value:
        if _is_loader(atom) and isinstance(atom, Obj) and project_method(atom, "__iter__") is None:
            if node is not None:
                m.record(facts.Iterate, node, loader=atom, grad=m.grad)
            return one(m.new("iterator", node, source=one(atom), element=draw(m, one(atom))))
        if isinstance(atom, Obj) and isinstance(atom.cls, Class):
            own = project_method(atom, "__iter__")
            if own is not None:
                return apply(m, own, Arguments(), node)
        if isinstance(atom, Obj) and atom.kind in ("generator", "iterable", "iterator"):
            return one(atom)
        if isinstance(atom, Sym):
            return one(Sym(f"iterator of {atom.text[:80]}", atom.ranked, False, atom.opaque, atom.made_of))
        return one(m.new("iterator", node, source=one(atom), element=draw(m, one(atom))))

    return m.choose(_first(args), of)


@_handles("builtins.next")
def _next(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    drawn = draw(m, _first(args))
    if len(args.positional) < 2:
        return drawn
    turn = m.loops[-1].mark if m.loops else ""
    ended = Key(f"{_first(args).key} has ended {turn}")
    return union([under(drawn, fact(ended, False)), under(args.positional[1], fact(ended, True))])


@_handles("builtins.list", "builtins.set", "builtins.sorted", "builtins.reversed", "builtins.frozenset", "collections.deque")
def _collect(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not args.positional:
        return one(m.new("list" if "set" not in name else "set", node))
    source = args.positional[0]
    atom = source.only
    if name == "builtins.reversed" or (isinstance(atom, Obj) and atom.kind == "range"):
        return iterable(m, node, lambda m, where, spot, body: iterate(m, where, spot, source, body))
    if isinstance(atom, Obj) and atom.kind in ("list", "tuple", "set"):
        made = m.new("tuple" if name == "builtins.tuple" else "list", node)
        made.attrs.update(atom.attrs)
        made.notes["loose"] = atom.notes.get("loose", False)
        return one(made)
    made = m.new("list", node, loose=True)
    spot = node if node is not None else ast.Pass()
    _replayed(m, source, spot, "list")
    for loader in source.atoms():
        if isinstance(loader, Obj) and loader.kind == "loader":
            made.attrs["*"] = draw(m, one(loader))
            return one(made)
    if isinstance(atom, Obj) and atom.kind in ("iterable", "generator", "dict"):
        drawn: list[Value] = []
        iterate(m, spot, spot, source, lambda element: drawn.append(element))
        if drawn:
            made.attrs["*"] = union(drawn)
        return one(made)
    element = draw(m, source)
    made.attrs["*"] = element
    if source.per_rank:
        return one(Sym(f"list of {source.key}", True, False, source.opaque, source.taint))
    return one(made)


@_handles("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "addict.Dict", "easydict.EasyDict",
          "ml_collections.ConfigDict")  # fmt: skip
def _dict(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.expressions import merge_dict, set_element
    from ddplint.engine.expressions import item as item_of

    made = m.new("dict", node)
    if name == "collections.defaultdict":
        made.notes["loose"] = True
    elif args.positional:
        source = args.positional[0]
        atom = source.only
        if isinstance(atom, Obj) and atom.kind in ("iterable", "list", "generator"):

            def put(pair: Value) -> None:
                set_element(m, made, item_of(m, pair, const(0)), item_of(m, pair, const(1)))

            spot = node if node is not None else ast.Pass()
            iterate(m, spot, spot, source, put)
        else:
            merge_dict(m, made, source)
    for key, value in args.keywords.items():
        made.attrs[f"[{key!r}]"] = value
    for value in args.more:
        merge_dict(m, made, value)
        made.notes["loose"] = True
    return one(made)


@_handles("builtins.super")
def _super(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    for frame in reversed(m.frames):
        if frame.func is not None and frame.owner is not None:
            me = frame.me
            if me is None:
                first = next(iter(frame.scopes[-1].values()), None)
                me = first.only if first is not None else None
            return one(Super(frame.owner, me or Sym("self")))
    return one(Sym("super"))


@_handles("builtins.exit", "builtins.quit", "sys.exit", "os._exit", "os.abort")
def _exit(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    m.die()
    return NONE


@_handles("functools.partial")
def _partial(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not args.positional:
        return one(Sym("partial"))
    return one(Partial(args.positional[0], args.positional[1:], dict(args.keywords)))


@_handles("functools.wraps", "functools.lru_cache", "functools.cache")
def _identity(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("identity decorator", node))


@_handles("dataclasses.dataclass", "attr.s", "attr.attrs", "attrs.define", "attrs.frozen", "attr.define", "attr.dataclass")
def _record(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    first = _first(args)
    if args.positional and isinstance(first.only, Class):
        cls = first.only
        cls.fields = tuple(
            s.target.id for s in cls.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        )
        return first
    return one(m.new("record decorator", node))


@_handles("dataclasses.field", "attr.ib", "attrs.field")
def _field(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("field", node)
    for key, names in (("default", ("default",)), ("default_factory", ("default_factory", "factory"))):
        value = args.get(None, *names)
        if value is not None:
            made.attrs[key] = value
    return one(made)


@_handles("dataclasses.replace", "dataclasses.asdict")
def _replace(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return _first(args)


@_handles("collections.namedtuple")
def _namedtuple(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    names = args.positional[1].constant() if len(args.positional) > 1 else ...
    known = exact_elements(args.positional[1]) if len(args.positional) > 1 else None
    fields = names.replace(",", " ").split() if isinstance(names, str) else [v.constant() for v in known or []]
    return one(m.new("record", node, fields=[f for f in fields if isinstance(f, str)]))


@_handles("enum.auto")
def _auto(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return const(getattr(node, "lineno", 0))  # a number of its own


# contexts --------------------------------------------------------------------


@_handles("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled", "torch.autograd.no_grad",
          "torch.autograd.grad_mode.no_grad", "torch.autograd.set_grad_enabled")  # fmt: skip
def _grad(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    last = name.rsplit(".", 1)[-1]
    if last in ("no_grad", "inference_mode") and args.positional and isinstance(args.positional[0].only, Func):
        return decorated(m, one(Lib(name)), args.positional[0])
    enabled = FALSE if last in ("no_grad", "inference_mode") else TRUE
    if last == "set_grad_enabled":
        enabled = _first(args)
    if last == "inference_mode" and args.positional:
        yes, no = split(args.positional[0])
        enabled = boolean(no, yes)
    return one(m.new("context", node, Lib(name), name="grad", enabled=enabled))


@_handles("contextlib.ExitStack", "contextlib.AsyncExitStack")
def _exit_stack(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("stack", node))


@_handles("contextlib.nullcontext", "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast",
          "contextlib.suppress", "contextlib.redirect_stdout")  # fmt: skip
def _null(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("context", node, Lib(name), name="null")
    if name == "contextlib.nullcontext" and args.positional:
        made.notes["entered"] = args.positional[0]
    return one(made)


@_handles("torch.autograd.backward")
def _autograd(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if node is not None:
        backward(m, node, _first(args).taint | _inside(_first(args)))
    return NONE


def _inside(value: Value) -> frozenset[Any]:
    known = exact_elements(value)
    found: frozenset[Any] = frozenset()
    for element in known or []:
        found |= element.taint
    return found


# ----------------------------------------------------------------- calling objects


def quiet(m: Machine) -> tuple[tuple[Obj, Path], ...]:
    """The wrappers over which ``no_sync`` holds now, and on which path."""
    return tuple((e.thing, e.path) for e in m.around if e.kind == "nosync" and e.thing is not None)


def hidden(m: Machine) -> bool:
    return any(entry.kind == "hidden" for entry in m.around)


def call_object(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    from ddplint.engine.calls import apply
    from ddplint.engine.expressions import method as project_method

    match thing.kind:
        case "ddp" | "dp" | "module":
            return forward(m, thing, args, node)
        case "record":
            made = m.new("tuple", node)
            for number, name in enumerate(thing.notes["fields"]):
                value = args.get(number, name)
                if value is not None:
                    made.attrs[f"[{number}]"] = value
                    made.attrs[name] = value
            return one(made)
        case "context":
            if thing.notes.get("name") == "grad" and args.positional:
                return decorated(m, one(thing), args.positional[0])
            return one(thing)
        case "nosyncer":
            return one(m.new("nosync", thing.site, wrapper=thing.notes["wrapper"]))
        case "identity decorator" | "record decorator":
            return _first(args)
        case "script":
            return one(blend("script", args.all()))
        case "dispatch":
            return _dispatch(m, thing, args, node)
        case _:
            if (caller := project_method(thing, "__call__")) is not None:
                return apply(m, caller, args, node)
            return opaque_call(m, thing, args, node)


def _dispatch(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    """A call of a ``functools.singledispatch`` function: each of its arms may be meant, the first where no other is."""
    from ddplint.engine.calls import call_function

    first, *others = thing.notes["arms"]
    results: list[Value] = []
    arms: list[tuple[Path, Callable[[], None]]] = []
    rest: Path = ALWAYS
    for number, func in enumerate([*others, first]):
        key = Key(f"{_first(args).key} goes to arm {number} of {first.key}")
        assumed = conjoin(rest, fact(key, True)) if func is not first else rest

        def run(func: Func = func, assumed: Path = assumed) -> None:
            results.append(under(call_function(m, func, args, node), assumed))

        arms.append((assumed, run))
        rest = conjoin(rest, fact(key, False))
    m.fork(arms)
    return union(results) if results else NONE


def forward(m: Machine, thing: Obj, args: Arguments, node: ast.AST | None) -> Value:
    """A module is called; what comes out is made of what went in and of this very call."""
    from ddplint.engine.calls import apply
    from ddplint.engine.expressions import method as project_method

    grad = m.grad
    event = None
    if node is not None:
        event = m.record(facts.Forward, node, module=thing, grad=grad, quiet=quiet(m), hidden=hidden(m))
    taint: frozenset[Any] = frozenset({event}) if event is not None and grad else frozenset()
    for value in args.all():
        taint |= frozenset(p for p in value.taint if grad or not isinstance(p, facts.Forward))
    for value in args.all():
        taint |= _deep_taint(value)
    if thing.kind == "module" and isinstance(thing.cls, Class) and _worth_running(m, thing):
        runner = project_method(thing, "forward")
        if runner is not None:
            result = apply(m, runner, args, node)
            taint |= result.taint | _deep_taint(result)
            if any(isinstance(a, Obj) for a in result.atoms()):
                return result
    number = event.index if event is not None else m.fresh()
    wrapped = thing.attrs.get("module") if thing.kind in ("ddp", "dp") else None
    for network in wrapped.atoms() if wrapped is not None else (thing,):
        if isinstance(network, Obj):
            network.notes["left behind"] = taint
    return one(Sym(f"output {number}", False, False, False, taint))


def left_by_forward(thing: Obj, name: str) -> Value | None:
    """What the last call of a network left in an attribute that its ``forward`` sets (its loss, say)."""
    taint = thing.notes.get("left behind")
    if taint is None or not isinstance(thing.cls, Class):
        return None
    runner = thing.cls.lookup("forward")
    for func in runner.atoms() if runner is not None else ():
        if isinstance(func, Func) and any(
            isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
            for node in ast.walk(func.node)
        ):
            return one(Sym(f"{thing.key}.{name}", opaque=False, made_of=taint))
    return None


def _deep_taint(value: Value, depth: int = 2) -> frozenset[Any]:
    found: frozenset[Any] = frozenset()
    for atom in value.atoms():
        if isinstance(atom, Obj) and atom.kind in ("tuple", "list", "dict") and depth:
            for inner in atom.attrs.values():
                found |= inner.taint | _deep_taint(inner, depth - 1)
    return found


def _worth_running(m: Machine, thing: Obj) -> bool:
    """Whether a module's own ``forward`` can matter: it holds a wrapper, or speaks to other processes."""
    known = thing.notes.get("worth running")
    if known is None:
        assert isinstance(thing.cls, Class)
        known = _holds_wrapper(thing, 3)
        thing.notes["worth running"] = known
    return bool(known)


def _holds_wrapper(thing: Obj, depth: int) -> bool:
    for value in list(thing.attrs.values()):
        for atom in value.atoms():
            if isinstance(atom, Obj):
                if atom.kind == "ddp":
                    return True
                if depth and atom.kind in ("module", "list", "dict", "tuple", "instance") and _holds_wrapper(atom, depth - 1):
                    return True
    return False


def backward(m: Machine, node: ast.AST, made_of: frozenset[Any]) -> None:
    m.record(facts.Backward, node, made_of=made_of, quiet=quiet(m))


def scales_and_steps(m: Machine, name: str, args: Arguments, node: ast.AST) -> bool:
    """``loss_scaler(loss, optimizer, ...)``: one call out of sight that runs the backward and the step."""
    if "scaler" not in name.lower() or not args.positional:
        return False
    taint = args.positional[0].taint
    if not any(isinstance(part, facts.Forward) for part in taint):
        return False
    backward(m, node, taint)
    update = args.get(None, "update_grad", "need_update")
    path = m.path
    if update is not None:
        yes, _ = split(update)
        m.path = conjoin(m.path, yes)
    if m.path:
        m.record(facts.Step, node, optimizer=args.positional[1] if len(args.positional) > 1 else NONE)
    m.path = path
    return True


# ------------------------------------------------------------------------ methods


def method(m: Machine, me: Atom, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A method of something that is not the project's."""
    if name == "join" and isinstance(me, Const | Sym) and len(args.positional) == 1:
        args = Arguments([*args.positional, draw(m, args.positional[0])])
    match me:
        case Super(owner, thing):
            return _super_method(m, owner, thing, name, args, node)
        case Obj():
            return _object_method(m, me, name, args, node)
        case Sym():
            return _sym_method(m, me, name, args, node)
        case Const(str() as text):
            return _text_method(me, text, name, args)
        case _:
            return one(blend(f"{me.key}.{name}", args.all(), opaque=False))


def _text_method(me: Const, text: str, name: str, args: Arguments) -> Value:
    literals = [value.constant() for value in args.positional]
    if name in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "format", "removeprefix"):
        if all(isinstance(x, str) for x in literals) and not args.keywords and (literals or name != "format"):
            try:
                result = getattr(text, name)(*literals)
            except Exception:
                result = ...
            if isinstance(result, str | bool):
                return const(result)
    return one(blend(f"{me.key[:60]}.{name}", args.all(), opaque=False))


def _super_method(m: Machine, owner: Class, me: Atom, name: str, args: Arguments, node: ast.AST | None) -> Value:
    if not isinstance(me, Obj):
        return one(Sym(f"super.{name}"))
    if name == "__init__":
        if not me.notes.get("initialised"):
            initialise(m, me, args, node)
        return NONE
    if name == "__iter__" and me.kind == "loader":
        def drive(m: Machine, where: ast.AST, spot: ast.AST, body: Callable[[Value], object]) -> None:
            from ddplint.engine.calls import batch_of

            m.record(facts.Iterate, spot, loader=me, grad=m.grad)
            m.loop(where, lambda turn: body(batch_of(me)) and None, over=frozenset({me}))

        return iterable(m, node, drive)
    if name == "__getattr__":
        return one(Sym(f"attribute of {me.key}"))
    return _object_method(m, me, name, args, node, inherited=True)


_MOVES = {
    "cuda": "device", "cpu": "device", "xpu": "device", "npu": "device", "mps": "device",
    "half": "dtype", "float": "dtype", "double": "dtype", "bfloat16": "dtype",
}  # fmt: skip
_THEMSELVES = frozenset(
    "train eval requires_grad_ apply share_memory to_empty gradient_checkpointing_enable compile".split()
)


def _object_method(
    m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None, inherited: bool = False
) -> Value:
    kind = me.kind
    if kind in ("module", "ddp", "dp"):
        found = _module_method(m, me, name, args, node)
        if found is not None:
            return found
    handler = _OBJECT_METHODS.get(kind)
    if handler is not None:
        found = handler(m, me, name, args, node)
        if found is not None:
            return found
    if name in ("save_pretrained",):
        return _save(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if kind in ("instance", "module", "loader", "sampler") and not _known_library(me):
        return opaque_call(m, Bound(me, name, None), args, node)
    result = blend(f"{me.key}.{name}", args.all(), opaque=False)
    return one(Sym(result.text, result.ranked, result.counter, kind in ("instance", "script"), result.made_of))


def _known_library(me: Obj) -> bool:
    return isinstance(me.cls, Lib) and me.cls.name.split(".")[0] in _IN_SIGHT


def _module_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name in ("forward", "__call__"):
        return forward(m, me, args, node)
    if name in _MOVES or name in ("to", "type"):
        _moved(m, me, name, args, node)
        return one(me)
    if name in _THEMSELVES:
        return one(me)
    if name == "state_dict":
        if node is None:
            return one(Sym("state dict"))
        event = m.record(facts.StateDict, node, module=me)
        return one(Sym(f"state dict {event.index}", opaque=False, made_of=frozenset({event})))
    if name == "load_state_dict":
        if node is not None:
            state = _first(args)
            made_of = state.taint | _deep_taint(state)
            m.record(facts.LoadInto, node, module=me, made_of=made_of, entry=_entry_of_file(state))
        return one(Sym("keys", opaque=False))
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        return one(Sym(f"{name} of {me.key}", opaque=False, made_of=frozenset({me})))
    if name == "no_sync" and me.kind == "ddp":
        return one(m.new("nosync", node, wrapper=me))
    if name == "join" and me.kind == "ddp":
        return one(m.new("context", node, name="join"))
    if name == "save_pretrained":
        return _save(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if name in ("modules", "children"):
        parts = [v for k, v in me.attrs.items()]
        return one(m.new("list", node, loose=True)) if not parts else _loose_list(m, node, [one(me), *parts])
    if name in ("keys", "values", "items", "append", "update", "get", "pop") and me.cls is not None:
        return _dict_method(m, me, name, args, node) if name != "append" else _list_method(m, me, name, args, node)
    if name == "add_module" or name == "register_module":
        literal = args.positional[0].constant() if args.positional else ...
        if isinstance(literal, str) and len(args.positional) > 1:
            m.write(me.attrs, literal, args.positional[1])
        return NONE
    if me.kind == "module" and isinstance(me.cls, Class) is False and name not in ("named_modules", "zero_grad"):
        taint = frozenset(p for v in args.all() for p in v.taint)
        return one(Sym(f"{me.key}.{name}()", False, False, True, taint | {me}))
    if name == "named_modules":
        pair = m.new("tuple", node)
        pair.attrs["[0]"] = one(Sym("name", opaque=False))
        pair.attrs["[1]"] = union([one(me), *me.attrs.values()])
        return _loose_list(m, node, [one(pair)])
    return one(Sym(f"{me.key}.{name}()", opaque=name != "zero_grad", made_of=frozenset({me})))


_ENTRY = re.compile(r"item\((.*), '([^']*)'\)")


def _entry_of_file(state: Value) -> str | None:
    """The entry of a file that a state is: ``model`` for ``torch.load(path)["model"]``; empty for the file itself."""
    atom, entry = state.only, ""
    text = atom.text if isinstance(atom, Sym) else ""
    while match := _ENTRY.fullmatch(text):
        text, entry = match.groups()
    return entry if text.startswith("loaded from ") else None


def _loose_list(m: Machine, node: ast.AST | None, values: list[Value]) -> Value:
    made = m.new("list", node, loose=True)
    made.attrs["*"] = union(values)
    return one(made)


def _moved(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> None:
    if node is None:
        return
    if name in _MOVES:
        target = _first(args) if args.all() else const(name)
        what = _MOVES[name]
        if what == "dtype":
            target = const(name)
        elif name == "cpu":
            target = const("cpu")
        m.record(facts.Move, node, module=me, what=what, target=target)
        return
    given = dict(args.keywords)
    for value in args.positional[:2]:
        given["dtype" if _is_dtype(value) else "device"] = value
    if name == "type":
        given = {"dtype": _first(args)}
    for what in ("device", "dtype"):
        if what in given and given[what].constant() is not None:
            m.record(facts.Move, node, module=me, what=what, target=given[what])
    if not args.all():
        return


def _is_dtype(value: Value) -> bool:
    for atom in value.atoms():
        text = atom.key.lower()
        if isinstance(atom, Sym) and (text.startswith("torch.") and text[6:] in _DTYPES or "dtype" in text or "precision" in text):
            return True
    return False


def _loader_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "__iter__":
        return _iter(m, name, Arguments([one(me)]), node)
    if name == "set_epoch":
        return NONE
    if name == "__len__":
        return one(Sym(f"len({me.key})", counter=True, opaque=False))
    return None


def _sampler_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "set_epoch":
        if node is not None:
            m.record(facts.SetEpoch, node, sampler=me, epoch=_first(args))
        return NONE
    if name in ("__iter__", "__len__"):
        return one(Sym(f"{me.key}.{name}", ranked=True, opaque=False))
    if name in ("state_dict", "load_state_dict"):
        return one(Sym(f"{me.key}.{name}", opaque=False))
    return None


def _optimizer_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "step":
        for closure in (atom for value in args.all() for atom in value.atoms()):
            if isinstance(closure, Func | Bound):
                call_back(m, closure, node)
        if node is not None:
            m.record(facts.Step, node, optimizer=one(me))
        return NONE
    if name == "backward" and node is not None and args.positional:
        backward(m, node, args.positional[0].taint)
        return NONE
    if name == "consolidate_state_dict" and node is not None:
        m.record(facts.Collective, node, name=name, tensors=NONE, group=None)
        return NONE
    if name == "state_dict":
        return one(Sym(f"state of {me.key}", opaque=False))
    return one(Sym(f"{me.key}.{name}", opaque=False))


def _file_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    save = me.notes.get("save")
    if name in ("write", "writelines") and save is not None and args.positional:
        save.content = union([save.content, args.positional[0]]) if save.content is not None else args.positional[0]
    if name == "getvalue" and "*" in me.attrs:
        return me.attrs["*"]
    return one(Sym(f"{me.key}.{name}", opaque=False))


def _path_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    value: Value = me.notes["value"]
    if name in ("write_text", "write_bytes"):
        return _save(m, f"Path.{name}", value, _first(args), node)
    if name == "open":
        return open_file(m, value, args.get(0, "mode"), node)
    if name in ("unlink", "rmdir"):
        return _save(m, f"Path.{name}", value, None, node)
    if name in ("rename", "replace"):
        return _save(m, f"Path.{name}", _plain(_first(args)), None, node)
    if name in ("mkdir", "touch", "chmod"):
        return NONE
    if name in ("read_text", "read_bytes"):
        if node is not None:
            load = m.record(facts.Load, node, file=value, how=name)
            return one(Sym(f"loaded from {value.key}", value.per_rank, False, True, frozenset({load})))
        return one(Sym("text"))
    if name in ("exists", "is_file", "is_dir"):
        return one(Sym(f"{name} {value.key}", opaque=False))
    if name in ("glob", "iterdir", "rglob"):
        return _loose_list(m, node, [one(m.new("path", node, value=one(blend(name, [value]))))])
    return one(m.new("path", me.site, value=one(blend(name, [value, *args.all()]))))


_PLAIN_TYPES = frozenset({"builtins.str", "builtins.int", "builtins.float"})
"""Types of options that no text of the command line turns into None."""


def _parser_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    options: dict[str, Any] = me.notes["options"]
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return one(me)
    if name == "add_argument":
        dest = args.keywords.get("dest")
        names = [v.constant() for v in args.positional]
        texts = [n for n in names if isinstance(n, str)]
        long = next((n for n in texts if n.startswith("--")), texts[0] if texts else None)
        key = dest.constant() if dest is not None else (long.lstrip("-").replace("-", "_") if long else None)
        if isinstance(key, str):
            options[key] = args.keywords.get("default")
            convert = args.keywords.get("type")
            if "nargs" not in args.keywords and (convert is None or convert.key in _PLAIN_TYPES):
                me.notes.setdefault("plain", set()).add(key)
            action = args.keywords.get("action")
            if action is not None and action.constant() in ("store_true", "store_false"):
                me.notes.setdefault("switches", set()).add(key)
        return NONE
    if name in ("parse_args", "parse_known_args", "parse_intermixed_args"):
        made = me.notes.get("parsed")
        if made is None:
            made = m.new("namespace", node, options=options, switches=me.notes.get("switches", set()))
            made.notes["plain"] = me.notes.get("plain", set())
            me.notes["parsed"] = made
        if name == "parse_known_args":
            pair = m.new("tuple", node)
            pair.attrs["[0]"], pair.attrs["[1]"] = one(made), one(Sym("other arguments"))
            return one(pair)
        return one(made)
    if name == "set_defaults":
        options.update(args.keywords)
        return NONE
    return one(Sym(f"parser.{name}"))


def _dict_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    from ddplint.engine.expressions import element, merge_dict, set_element

    if name in ("get", "pop", "setdefault") and args.positional:
        index = args.positional[0]
        literal = index.constant()
        default = args.positional[1] if len(args.positional) > 1 else NONE
        if literal is not ... and f"[{literal!r}]" in me.attrs:
            return element(m, me, literal, index)
        if literal is not ... and not me.notes.get("loose"):
            if name == "setdefault":
                set_element(m, me, index, default)
            return default
        found = element(m, me, literal, index)
        if name == "setdefault":
            set_element(m, me, index, default)
            found = union([found, default])
        return found if found.opaque else union([found, default])
    if name == "update":
        for value in args.positional:
            merge_dict(m, me, value)
        for key, value in args.keywords.items():
            m.write(me.attrs, f"[{key!r}]", value)
        return NONE
    if name == "copy":
        return _copy(m, name, Arguments([one(me)]), node)
    names = [key for key in me.attrs if key.startswith("[")]
    loose = me.notes.get("loose") or "*" in me.attrs
    if name in ("keys", "values", "items"):
        made = m.new("list", node, loose=bool(loose))
        for number, key in enumerate(names):
            made.attrs[f"[{number}]"] = _entry(m, name, _key_value(key), me.attrs[key].within(m.path), node)
        if loose:
            states = frozenset(facts.KeyOf(state) for state in me.notes.get("states", ()))
            anything = me.attrs.get("*") or one(
                Sym(f"value of {me.key}", made_of=frozenset(facts.PartOf(s) for s in me.notes.get("states", ())))
            )
            key_value = one(Sym(f"key of {me.key}", opaque=False, made_of=states))
            made.attrs["*"] = _entry(m, name, key_value, anything, node)
        if len(names) > 8:
            made.notes["loose"] = True
        return one(made)
    return one(Sym(f"{me.key}.{name}"))


def _entry(m: Machine, name: str, key: Value, value: Value, node: ast.AST | None) -> Value:
    if name == "keys":
        return key
    if name == "values":
        return value
    pair = m.new("tuple", node)
    pair.attrs["[0]"], pair.attrs["[1]"] = key, value
    return one(pair)


def _key_value(name: str) -> Value:
    try:
        return const(ast.literal_eval(name[1:-1]))
    except (ValueError, SyntaxError):
        return one(Sym(name))


def _list_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    from ddplint.engine.expressions import element

    if name in ("append", "add", "appendleft", "insert", "extend", "update"):
        value = args.positional[-1] if args.positional else NONE
        if name in ("extend", "update"):
            value = draw(m, value)
        in_loop = any(loop.repeats for loop in m.loops[len(me.notes.get("loops", ())) :])
        if name == "append" and not in_loop and not me.notes.get("loose"):
            m.write(me.attrs, f"[{len(me.attrs)}]", value)
            return NONE
        old = me.attrs.get("*")
        m.write(me.attrs, "*", union([old, value]) if old is not None else value)
        me.notes["loose"] = True
        if any(key.per_rank and key != LOST for case in m.path for key, _ in case.facts):
            me.notes["per_rank"] = True
        return NONE
    if name in ("pop", "popleft"):
        return element(m, me, ..., one(Sym("index")))
    if name == "copy":
        return _copy(m, name, Arguments([one(me)]), node)
    if name in ("sort", "reverse", "clear", "remove", "discard"):
        return NONE
    if name == "_asdict":
        return one(me)
    return one(Sym(f"{me.key}.{name}", opaque=False))


def _stack_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    from ddplint.engine.calls import _enter_plain, _is_plain

    if name in ("enter_context", "push", "enter_async_context") and args.positional:
        value = args.positional[0]
        regions: list[facts.NoSync] = []
        for case, atom in value.within(m.path).alternatives:
            if _is_plain(atom) and isinstance(node, ast.expr):
                _enter_plain(m, node, atom, conjoin(m.path, (case,)), regions)
            elif isinstance(atom, Obj) and atom.kind == "generator":
                m.around.append(Around("hidden", None, m.path))
        return value
    return one(Sym(f"stack.{name}", opaque=False))


def _context_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    from ddplint.engine.calls import _enter_plain

    if name == "__enter__" and isinstance(node, ast.expr):
        return _enter_plain(m, node, me, m.path, [])
    if name == "__exit__":
        thing = me.notes.get("wrapper")
        for number in range(len(m.around) - 1, -1, -1):
            if m.around[number].thing is thing and m.around[number].kind in ("nosync", "nograd", "grad", "hidden"):
                del m.around[number]
                break
        return NONE
    return one(Sym(f"context.{name}", opaque=False))


def _environ_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    literal = args.positional[0].constant() if args.positional else ...
    if name in ("get", "setdefault", "pop", "__getitem__"):
        if isinstance(literal, str) and literal in _ENVIRONMENT:
            return environment(m, literal)
        return environment(m, literal)
    return NONE


@_handles("os.getenv")
def _getenv(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return environment(m, _first(args).constant())


def _rng_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "manual_seed":
        if node is not None:
            m.record(facts.Seed, node, generator=me, seed=_first(args))
        if _first(args).per_rank:
            me.notes["per_rank"] = True
        return one(me)
    return one(Sym(f"{me.key}.{name}", me.per_rank, opaque=False))


def _script_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "save":
        return _save(m, "ScriptModule.save", args.get(0, "f"), None, node)
    if name in ("eval", "train", "to", "cuda", "cpu", "half"):
        return one(me)
    return None


def _dispatch_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name != "register":
        return None
    given = args.positional[-1].only if args.positional else None
    if isinstance(given, Func):
        me.notes["arms"].append(given)
        return one(given)
    return one(Bound(me, name, None))


def _instance_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    if name == "set_epoch" and node is not None:
        m.record(facts.SetEpoch, node, sampler=me, epoch=_first(args))
    return None


_OBJECT_METHODS: dict[str, Callable[..., Value | None]] = {
    "loader": _loader_method,
    "thread": _thread_method,
    "sampler": _sampler_method,
    "optimizer": _optimizer_method,
    "file": _file_method,
    "buffer": _file_method,
    "path": _path_method,
    "parser": _parser_method,
    "dict": _dict_method,
    "list": _list_method,
    "tuple": _list_method,
    "set": _list_method,
    "stack": _stack_method,
    "context": _context_method,
    "nosync": _context_method,
    "environ": _environ_method,
    "rng": _rng_method,
    "script": _script_method,
    "instance": _instance_method,
    "dispatch": _dispatch_method,
}

_CUTS = {"replace", "removeprefix", "lstrip", "partition", "split", "sub", "strip", "rsplit", "rpartition"}


_WRITERS = {
    "pandas": frozenset({"to_csv", "to_excel", "to_json", "to_pickle", "to_parquet", "to_feather"}),
    "matplotlib": frozenset({"savefig"}),
}
"""Methods of what a library made that write a file."""

_OF_TEXT = frozenset(
    "format lower upper title strip lstrip rstrip removeprefix removesuffix replace zfill encode decode split rsplit "
    "joinpath with_suffix with_name with_stem expanduser resolve absolute as_posix".split()
)
"""Methods of texts and paths: what they give is made of what they are given, and of nothing else."""

_CUTS_GRAPH = frozenset({"detach", "item", "numpy", "tolist", "detach_", "size", "dim", "numel", "type", "requires_grad_"})


def _sym_method(m: Machine, me: Sym, name: str, args: Arguments, node: ast.AST | None) -> Value:
    text = me.text.lower()
    if name == "backward" and node is not None:
        if me.made_of:
            backward(m, node, me.made_of)
        elif args.positional and any(isinstance(p, facts.Forward) for p in args.positional[0].taint):
            if "framework" not in me.made_of:
                backward(m, node, args.positional[0].taint)
        return NONE
    if name == "step" and node is not None and _steps(text, args):
        m.record(facts.Step, node, optimizer=args.positional[0] if args.positional else one(me))
        return one(Sym(f"{me.text[:80]}.step()", opaque=False))
    if name == "save_pretrained":
        return _save(m, "save_pretrained", args.get(0, "save_directory"), one(me), node)
    if (root := me.text.split(".", 1)[0]) in _WRITERS and name in _WRITERS[root] and "mode" not in args.keywords:
        return _save(m, f"{root} {name}", args.get(0, "fname", "path_or_buf", "excel_writer", "path"), one(me), node)
    if name == "set_epoch" and node is not None:
        for part in me.made_of:
            if isinstance(part, Obj) and part.kind in ("loader", "sampler"):
                m.record(facts.Escape, node, thing=part)
        return NONE
    states = [part for part in me.made_of if isinstance(part, facts.StateDict)]
    if states and name in ("items", "keys", "values"):
        key = one(Sym(f"key of {me.text}", opaque=False, made_of=frozenset(facts.KeyOf(s) for s in states)))
        part = one(Sym(f"part of {me.text}", opaque=False, made_of=frozenset(facts.PartOf(s) for s in states)))
        return _loose_list(m, node, [_entry(m, name, key, part, node)])
    made_of = me.made_of
    if name == "startswith" and args.positional:
        start = args.positional[0].constant()
        keys = [part for part in made_of if isinstance(part, facts.KeyOf)]
        if keys and isinstance(start, str) and "module.".startswith(start) and all(k.state.module.kind == "ddp" for k in keys):
            return TRUE
    if name in _CUTS:
        made_of = frozenset(part for part in made_of if not isinstance(part, facts.KeyOf))
    elif name in _CUTS_GRAPH:
        made_of = frozenset(part for part in made_of if not isinstance(part, facts.Forward))
    if name == "update":
        for value in args.positional:
            given = value.only
            if isinstance(given, Obj) and given.kind == "dict":
                for key, entry in given.attrs.items():
                    if key.startswith("['"):
                        m.write(m.sym_attrs, f"{me.text}{key}", entry)
        if states:
            return NONE
    if name in ("get", "pop", "copy") and any(isinstance(part, facts.Load) for part in made_of):
        pass  # an entry of what a file holds
    elif me.opaque and name not in _OF_TEXT and not any(isinstance(part, facts.Forward | Obj) for part in made_of):
        return opaque_call(m, Sym(f"{me.text[:80]}.{name}", me.ranked, False, True, made_of), args, node)
    result = blend(f"{me.text[:80]}.{name}", [one(me), *args.all()] if not args.all() else args.all(), opaque=me.opaque)
    taint = made_of | frozenset(
        p for value in args.all() for p in value.taint if name not in _CUTS_GRAPH or not isinstance(p, facts.Forward)
    )
    ranked = me.ranked or (result.ranked and name not in _PLACES)
    return one(Sym(result.text, ranked, me.counter and not taint, me.opaque, taint))


_PLACES = frozenset({"to", "cuda", "xpu", "npu", "new_tensor", "record_stream"})
"""Methods whose argument says where a tensor lies, not what it holds."""


def _steps(text: str, args: Arguments) -> bool:
    """Whether ``x.step()`` is an optimizer's (or a gradient scaler's) step, as far as ``x`` can be told."""
    if "sched" in text or "prof" in text:
        return False
    given = any(isinstance(a, Obj) and a.kind == "optimizer" for v in args.positional for a in v.atoms())
    return given or "opt" in text or "scaler" in text or "adam" in text or "sgd" in text


# --------------------------------------------------------------------- decorators


def decorated(m: Machine, decorator: Value, value: Value) -> Value:
    """A function under a decorator that is not the project's; the function keeps the decorator."""
    atom, func = decorator.only, value.only
    if isinstance(atom, Lib) and atom.name == "functools.singledispatch" and isinstance(func, Func):
        return one(m.new("dispatch", func.node, atom, arms=[func]))
    if isinstance(atom, Bound) and isinstance(atom.self, Obj) and atom.self.kind == "dispatch" and isinstance(func, Func):
        atom.self.notes["arms"].append(func)
    return value


def enter_decorators(m: Machine, func: Func) -> bool:
    """What the decorators of a function put around it; whether they keep it to some ranks."""
    guarded = False
    for decorator in func.decorators:
        for atom in decorator.atoms():
            name = atom.name if isinstance(atom, Lib) else ""
            if isinstance(atom, Obj) and atom.kind == "context" and atom.notes.get("name") == "grad":
                m.around.append(Around("grad" if atom.notes["enabled"] == TRUE else "nograd", None, m.path))
            elif name in ("torch.no_grad", "torch.inference_mode"):
                m.around.append(Around("nograd", None, m.path))
            elif isinstance(atom, Lib | Sym) and hints_rank(atom.key.rsplit(".", 1)[-1].rsplit(" ", 1)[-1]):
                m.path = conjoin(m.path, fact(Key(f"decorator {atom.key}", per_rank=True), True))
                guarded = True
    return guarded


__all__ = ["ModuleRef", "attribute", "call", "call_object", "has", "is_instance", "method"]
