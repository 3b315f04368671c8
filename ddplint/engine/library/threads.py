"""Threads and the queues through which they hand things on."""

from __future__ import annotations

import ast

from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.library.distributed import apply_quietly
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.members import method as project_method
from ddplint.engine.values import NONE, UNSEEN, Class, Lib, Obj, Sym, Value, one, union

_THREAD = "threading.Thread"


@handles(_THREAD)
def _thread(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("thread", node, Lib(name))
    made.notes["target"], made.notes["given"] = args.get(1, "target"), args.get(3, "args")
    return one(made)


def thread_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of ``threading.Thread``; ``start`` and ``run`` run the target."""
    target, given = me.notes["target"], me.notes["given"]
    if name in ("start", "run") and target is not None:
        apply_quietly(m, target, (exact_elements(given) if given is not None else []) or [], node)
    return NONE


def own_thread_method(m: Machine, me: Obj, name: str, node: ast.AST | None) -> Value | None:
    """A method that a project's thread has from ``threading.Thread``: ``start`` runs its ``run``; None for others."""
    if name not in ("start", "join") or not isinstance(me.cls, Class) or Lib(_THREAD) not in me.cls.mro():
        return None
    runner = project_method(me, "run") if name == "start" else None
    if runner is not None:
        apply_quietly(m, runner, [], node)
    return NONE


@handles("queue.Queue", "queue.SimpleQueue", "queue.LifoQueue", "multiprocessing.Queue", "multiprocessing.SimpleQueue",
          "torch.multiprocessing.Queue", "torch.multiprocessing.SimpleQueue")  # fmt: skip
def _queue(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(m.new("queue", node, Lib(name)))


def queue_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of a queue: ``get`` gives one of the things that were put in."""
    held = me.attrs.get("*")
    if name in ("put", "put_nowait"):
        value = first_argument(args)
        m.write(me.attrs, "*", union([held, value]) if held is not None else value)
        return NONE
    if name in ("get", "get_nowait"):
        return held.within(m.path) if held is not None else one(Sym(f"from {me.key}", made_of=frozenset({UNSEEN})))
    return None
