"""Making a thing of a library class, and what it has without anybody setting it."""

from __future__ import annotations

import ast
from dataclasses import replace

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.library.registry import IN_SIGHT
from ddplint.engine.machine import Machine
from ddplint.engine.names import DATA_LOADER, DATA_PARALLEL, DDP, DISTRIBUTED_SAMPLER, FSDP, MODULE
from ddplint.engine.ordering import speaks_of_draws
from ddplint.engine.values import (
    NONE,
    Alternative,
    Atom,
    Bound,
    Class,
    Const,
    Lib,
    Obj,
    Site,
    Sym,
    Value,
    blend,
    const,
    one,
)


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
        elif (
            name == MODULE
            or (name.startswith("torch.nn.") and name[9:10].isupper())
            or name.rsplit(".", 1)[-1] in ("Module", "PreTrainedModel", "LightningModule", "ModelMixin")
        ):
            kind = "module"
    return "module" if kind == "instance" and cls.lookup("forward") is not None and has_unseen_base(cls) else kind


_OF_NETWORKS = frozenset({"timm", "torchaudio", "torchvision", "transformers"})
"""Libraries whose classes that have a ``forward`` are networks."""


def has_unseen_base(cls: Class) -> bool:
    """Whether a base of a class is out of sight, and may be a network."""
    roots = {base.name.split(".")[0] for base in cls.mro() if isinstance(base, Lib)}
    return cls.opaque_base or any(root in _OF_NETWORKS or root not in IN_SIGHT for root in roots)


_WORTH_IN_CLASS = (b"DDP", b"DistributedDataParallel", b"optim", b"DataLoader", b"torch.save", b"seed(")


_WORTH_IN_INIT = (b".cuda(", b".to(", b".double(", b".half(", b"no_sync", b"Parallel", b"wrap")


def worth_making(made: Obj, cls: Class) -> bool:
    """Whether running the constructor of a network, a dataset or an optimizer can show anything."""
    if made.kind == "optimizer":
        return False
    if (made.kind != "module" or has_unseen_base(cls)) and not _is_dataset(cls):
        return True
    known = getattr(cls.node, "known_worth", None)
    if known is None:
        known = speaks_of_draws(cls) or any(_speaks(step) for step in cls.mro() if isinstance(step, Class))
        cls.node.known_worth = known  # type: ignore[attr-defined]
    return bool(known)


def _is_dataset(cls: Class) -> bool:
    return any(
        isinstance(b, Lib) and b.name.startswith("torch.utils.data.") and b.name.endswith("Dataset") for b in cls.mro()
    )


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
    """Note of a module that it may be on its device from the start: by a context, or by a base out of sight."""
    if made.kind == "module" and (
        any(entry.kind == "device" for entry in m.around)
        or m.sym_attrs.get("default device") is not None
        or (isinstance(made.cls, Class) and has_unseen_base(made.cls))
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
    """Record that ``made`` wraps a network, with the moves of the network that came before."""
    inner = args.get(0, "module", "model")
    if inner is None:
        inner = one(Sym("module"))
    made.attrs["module"] = Value(tuple((case, _inside(made, atom)) for case, atom in inner.alternatives))
    site = made.site if made.site is not None else (m.site(node) if node is not None else None)
    if site is None:
        return
    moved = [e for e in m.trace.of(facts.Move) if any(holds(e.module, a) for a in inner.atoms())]
    ids = args.get(1, "device_ids") or NONE
    frames, chain = m.frames, made.notes["chain"]
    event = m.record(facts.Wrap, site, wrapper=made, inner=inner, device_ids=ids, moved=tuple(moved))
    event.chain = chain if frames else ()
    made.notes["wrap"] = event
    for atom in inner.atoms():
        if isinstance(atom, Obj):
            atom.notes["wrapped"] = event
            if atom.kind == "instance" and isinstance(atom.cls, Class) and has_unseen_base(atom.cls):
                atom.kind, atom.notes["placed"] = "module", True  # else it could not be wrapped
    if (buffers := args.get(None, "broadcast_buffers")) is not None:
        made.notes["broadcast_buffers"] = buffers
    if (group := args.get(None, "process_group")) is not None:
        made.notes["process_group"] = group


def _inside(wrapper: Obj, atom: Atom) -> Atom:
    """What a wrapper holds, marked where it is out of sight."""
    if not isinstance(atom, Sym):
        return atom
    return replace(atom, made_of=atom.made_of | {facts.Inside(wrapper, atom.text)})


def holds(outer: Atom, inner: Atom, depth: int = 3) -> bool:
    """Whether ``inner`` is ``outer`` or lies in it."""
    if outer is inner:
        return True
    if not isinstance(outer, Obj) or depth == 0:
        return False
    return any(holds(atom, inner, depth - 1) for value in outer.attrs.values() for atom in value.atoms())


def calls_of_holders(m: Machine, thing: Obj) -> tuple[Site, ...]:
    """The calls from outside of objects that hold a network or wrapper, up to what is run now; outermost first."""
    found = []
    if thing.kind == "ddp" or "wrapped" in thing.notes:
        for frame, caller in zip(reversed(m.frames), reversed(m.frames[:-1]), strict=False):
            if frame.me is None or frame.me is thing or not _holds_itself(frame.me, thing, 3):
                break
            if caller.me is not frame.me and frame.chain:
                found.append(frame.chain[-1])
    return tuple(reversed(found))


def _holds_itself(outer: Atom, inner: Obj, depth: int) -> bool:
    """Whether it holds something otherwise than in a wrapper."""
    if outer is inner:
        return True
    if not isinstance(outer, Obj) or outer.kind == "ddp" or depth == 0:
        return False
    return any(_holds_itself(atom, inner, depth - 1) for value in outer.attrs.values() for atom in value.atoms())


def attribute_was_set(m: Machine, thing: Obj, name: str, value: Value, node: ast.AST) -> None:
    """Record a set attribute that changes how a wrapper or a sampler works."""
    if thing.kind == "ddp":
        m.record(facts.Toggle, node, wrapper=thing, name=name, value=value)
    elif (thing.kind == "sampler" and name in ("epoch", "seed")) or (
        name == "epoch"
        and thing.kind == "instance"
        and (m.frame.me is not thing or (isinstance(thing.cls, Class) and thing.cls.is_sampler))
    ):
        m.record(facts.SetEpoch, node, sampler=thing, epoch=value)


_METHODS = {
    "module": frozenset(
        [
            "to",
            "cuda",
            "cpu",
            "half",
            "float",
            "double",
            "bfloat16",
            "xpu",
            "type",
            "train",
            "eval",
            "requires_grad_",
            "apply",
            "share_memory",
            "parameters",
            "named_parameters",
            "modules",
            "named_modules",
            "children",
            "named_children",
            "buffers",
            "state_dict",
            "load_state_dict",
            "zero_grad",
            "forward",
            "__call__",
            "no_sync",
            "save_pretrained",
            "to_empty",
            "add_module",
            "register_buffer",
            "keys",
            "values",
            "items",
            "append",
            "gradient_checkpointing_enable",
            "named_buffers",
            "register_comm_hook",
            "join",
            "update",
            "get_parameter",
            "save",
        ]
    ),
    "dict": frozenset(
        ["items", "keys", "values", "get", "pop", "update", "setdefault", "copy", "clear", "popitem", "__getitem__"]
    ),
    "list": frozenset(
        ["append", "extend", "pop", "insert", "remove", "index", "count", "sort", "reverse", "copy", "clear"]
    ),
}


_METHODS["ddp"] = _METHODS["dp"] = _METHODS["module"]


_METHODS["tuple"] = frozenset({"index", "count", "_asdict", "_replace"})


_METHODS["set"] = frozenset(["add", "update", "discard", "remove"])


_METHODS["queue"] = frozenset(["put", "put_nowait", "get", "get_nowait"])


def is_of_every_module(name: str) -> bool:
    """Whether every network has a method of that name that gives no output of it."""
    return name in _METHODS["module"] and name not in ("forward", "__call__")


def has_method(thing: Obj, name: str) -> bool:
    """Whether a library object of this kind has a method of that name."""
    if thing.kind in ("instance", "namespace", "field"):
        return False
    if isinstance(thing.cls, Class) and thing.kind in ("ddp", "module", "dp"):
        return name in _METHODS["module"] and name not in (
            "save",
            "append",
            "keys",
            "values",
            "items",
            "update",
            "join",
        )
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
        case ("ddp", "reducer"):
            return one(m.new("reducer", wrapper=thing))
        case ("optimizer", "param_groups"):
            over = frozenset(facts.Weights(part) for part in thing.notes.get("over", ()) if isinstance(part, Obj))
            return one(Sym(f"{thing.key}.{name}", made_of=over))
        case ("ddp", "device"):
            return one(Sym(f"{thing.key}.device", ranked=True))
        case ("path", "parent"):
            return one(m.new("path", thing.site, value=one(blend(name, [thing.notes["value"]]))))
        case ("path", "name" | "stem" | "suffix"):
            return one(blend(name, [thing.notes["value"]]))
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
    kept: list[Alternative] = []
    for case, atom in given.alternatives:
        if isinstance(atom, Const) and atom.value is None:
            kept.append((case, m.new("instance", loader.site, Lib("torch.utils.data.RandomSampler"))))
        else:
            kept.append((case, atom))
    return Value(tuple(kept))
