"""Context managers and decorators of libraries."""

from __future__ import annotations

import ast

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import Key, conjoin, fact
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Around, Machine
from ddplint.engine.names import hints_rank
from ddplint.engine.values import FALSE, NONE, TRUE, Bound, Func, Lib, Obj, Sym, Value, boolean, one, split


@handles("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled",
          "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad", "torch.autograd.set_grad_enabled")  # fmt: skip
def _grad(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    last = name.rsplit(".", 1)[-1]
    if last in ("no_grad", "inference_mode") and args.positional and isinstance(args.positional[0].only, Func):
        return decorated(m, one(Lib(name)), args.positional[0])
    enabled = FALSE if last in ("no_grad", "inference_mode") else TRUE
    if last == "set_grad_enabled":
        enabled = first_argument(args)
    if last == "inference_mode" and args.positional:
        yes, no = split(args.positional[0])
        enabled = boolean(no, yes)
    return one(m.new("context", node, Lib(name), name="grad", enabled=enabled))


@handles("contextlib.ExitStack", "contextlib.AsyncExitStack")
def _exit_stack(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("stack", node))


@handles("torch.distributed.algorithms.Join", "torch.distributed.algorithms.join.Join")
def _join(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("context", node, Lib(name), name="join"))


@handles("contextlib.nullcontext", "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast",
          "contextlib.suppress", "contextlib.redirect_stdout")  # fmt: skip
def _null(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("context", node, Lib(name), name="null")
    if name == "contextlib.nullcontext" and args.positional:
        made.notes["entered"] = args.positional[0]
    return one(made)


@handles("filelock.FileLock", "filelock.SoftFileLock", "filelock.UnixFileLock", "filelock.WindowsFileLock",
          "fasteners.InterProcessLock", "portalocker.Lock", "portalocker.RLock")  # fmt: skip
def _lock(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("context", node, Lib(name), name="lock"))


def stack_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of ``contextlib.ExitStack``; what is entered stays active."""
    from ddplint.engine.entering import enter_plain, is_plain

    if name in ("enter_context", "push", "enter_async_context") and args.positional:
        value = args.positional[0]
        regions: list[facts.NoSync] = []
        for case, atom in value.within(m.path).alternatives:
            if is_plain(atom) and isinstance(node, ast.expr):
                enter_plain(m, node, atom, conjoin(m.path, (case,)), regions)
            elif isinstance(atom, Obj) and atom.kind == "generator":
                m.around.append(Around("hidden", None, m.path))
        return value
    return one(Sym(f"stack.{name}", opaque=False))


def context_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """``__enter__`` and ``__exit__`` of a context manager, where they are called by name."""
    from ddplint.engine.entering import enter_plain

    if name == "__enter__" and isinstance(node, ast.expr):
        return enter_plain(m, node, me, m.path, [])
    if name == "__exit__":
        thing = me.notes.get("wrapper")
        for number in range(len(m.around) - 1, -1, -1):
            if m.around[number].thing is thing and m.around[number].kind in (
                "nosync",
                "nograd",
                "grad",
                "join",
                "hidden",
            ):
                del m.around[number]
                break
        return NONE
    return one(Sym(f"context.{name}", opaque=False))


def decorated(m: Machine, decorator: Value, value: Value) -> Value:
    """A function under a decorator that is not the project's; the function keeps the decorator."""
    atom, func = decorator.only, value.only
    if isinstance(atom, Lib) and atom.name == "functools.singledispatch" and isinstance(func, Func):
        return one(m.new("dispatch", func.node, atom, arms=[func]))
    if (
        isinstance(atom, Bound)
        and isinstance(atom.self, Obj)
        and atom.self.kind == "dispatch"
        and isinstance(func, Func)
    ):
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
