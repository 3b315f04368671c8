"""Which function stands in for which library call, and what the stand-ins share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ddplint.engine.arguments import Arguments
from ddplint.engine.machine import Machine
from ddplint.engine.values import NONE, Atom, Lib, Obj, Sym, Value, one

IN_SIGHT = {
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


WITH_OPTIMIZERS = {"transformers", "apex", "timm", "bitsandbytes", "torch_optimizer"}


OPTIMIZER = re.compile(
    r"^[A-Z]\w*(?:Adam|SGD|LAMB|Lamb|LARS|Lion)|^(?:Adam|Adafactor|SGD|LAMB|Lamb|LARS|Lion|Ranger)\w*$"
)
"""Classes that other libraries add to torch's optimizers."""


DATA_ROOTS = {
    "torch",
    "torchvision",
    "torchaudio",
    "numpy",
    "builtins",
    "sklearn",
    "pandas",
    "datasets",
    "transformers",
}


Handler = Callable[[Machine, str, Arguments, "ast.AST | None"], Value]


CALLS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """A decorator: the function stands in for the library calls of these names."""

    def register(handler: Handler) -> Handler:
        for name in names:
            CALLS[name] = handler
        return handler

    return register


DIFFERS = {"getpid", "time_ns", "gethostname", "uuid4", "uuid1", "mkdtemp", "mkstemp", "node", "current_device"}


def place_of(node: ast.AST | None) -> str:
    """Line and column of a node, as a text."""
    return f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"


def first_argument(args: Arguments) -> Value:
    """The first argument, however it is passed; the literal None where there is none."""
    return args.positional[0] if args.positional else next(iter(args.keywords.values()), NONE)


def path_text(value: Value) -> Value:
    """A path as the text it stands for."""
    atom = value.only
    if isinstance(atom, Obj) and atom.kind == "path":
        return atom.notes["value"]  # type: ignore[no-any-return]
    return value


def iterable(
    m: Machine, node: ast.AST | None, drive: Callable[..., None], sources: Sequence[Value] = (), *, bare: bool = False
) -> Value:
    """Something to go over: ``drive`` runs the loop; its elements come from ``sources``, in their order.

    ``bare``: it gives its one source's elements as they are, and all of them.
    """
    return one(m.new("iterable", node, drive=drive, sources=tuple(sources), bare=bare))


def mark_in_place(m: Machine, node: ast.AST | None, value: Value, marks: frozenset[Any]) -> None:
    """A call changes ``value``, which it was given as ``node``: from now on it is made of ``marks``, too."""
    from ddplint.engine.expressions import assign

    for atom in value.atoms():
        if isinstance(atom, Obj):
            atom.notes["marks"] = frozenset(atom.notes.get("marks", ())) | marks
    unknown = [(case, atom) for case, atom in value.alternatives if isinstance(atom, Sym)]
    if names_a_place(node) and len(unknown) == len(value.alternatives):
        marked = [(case, replace(atom, made_of=atom.made_of | marks)) for case, atom in unknown]
        assign(m, node, Value(tuple(marked)))


def names_a_place(node: ast.AST | None) -> TypeGuard[ast.expr]:
    """Whether an expression is a name, an attribute, or an entry of one of these by a name or a literal."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name | ast.Attribute) and isinstance(node.slice, ast.Name | ast.Constant)
    return isinstance(node, ast.Name | ast.Attribute)


def is_loader(atom: Atom) -> bool:
    """Whether it is a data loader."""
    return isinstance(atom, Obj) and atom.kind == "loader"


def known_library(me: Obj) -> bool:
    """Whether it was made by a library that does nothing of interest unseen."""
    return isinstance(me.cls, Lib) and me.cls.name.split(".")[0] in IN_SIGHT
