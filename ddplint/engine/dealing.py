"""What the project's own samplers and iterable data sets deal out to each rank: their ``__iter__`` is followed once."""

from __future__ import annotations

import ast

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import EVERY_RANK
from ddplint.engine.iteration import iterate
from ddplint.engine.machine import Machine
from ddplint.engine.members import method
from ddplint.engine.ordering import drawn, ordered_by, speaks_of_draws
from ddplint.engine.values import Class, Obj, Value

_DEEPEST = 3


def follow_orders(m: Machine, loader: Obj, where: ast.AST) -> None:
    """Note at the samplers and the data set of a loader of which draws each rank takes its own share there."""
    for name in ("dataset", "sampler", "batch_sampler"):
        if name in loader.attrs:
            start = len(m.trace.events)
            _follow(m, loader.attrs[name], where, _DEEPEST)
            if name == "dataset" and _has_workers(loader):
                for event in m.trace.events[start:]:
                    if isinstance(event, facts.Draw):
                        event.by_worker = True


def _has_workers(loader: Obj) -> bool:
    """Whether processes of a loader's own may go over its data set."""
    args = loader.notes.get("args")
    workers = args.get(None, "num_workers") if args is not None else None
    return args is None or bool(args.more) or (workers is not None and workers.constant() != 0)


def _follow(m: Machine, value: Value, where: ast.AST, depth: int) -> None:
    for atom in value.within(m.path).atoms():
        if not isinstance(atom, Obj) or not isinstance(atom.cls, Class) or "deals" in atom.notes:
            continue
        if speaks_of_draws(atom.cls) and (own := method(atom, "__iter__")) is not None:
            atom.notes["deals"] = frozenset()
            atom.notes["deals"] = _dealt(m, own, where)
        elif depth:
            for name in ("sampler", "batch_sampler", "dataset"):
                if name in atom.attrs:
                    _follow(m, atom.attrs[name], where, depth - 1)


def _dealt(m: Machine, own: Value, where: ast.AST) -> frozenset[facts.ShareOf]:
    """The draws of which an ``__iter__`` gives each rank a share of its own."""
    before, found = m.path, set[facts.ShareOf]()

    def body(element: Value) -> None:
        parts = drawn(element.taint)
        found.update(part for part in parts if isinstance(part, facts.ShareOf))
        if any(case.unsure or case.mask != EVERY_RANK for case in m.path):
            inner = m.loops[-1:]
            found.update(facts.ShareOf(p) for p in parts if isinstance(p, facts.Draw) and inner[0] not in p.loops)

    result = m.apply(own, Arguments(), where)
    found.update(part for part in ordered_by(result) if isinstance(part, facts.ShareOf))
    iterate(m, where, where, result, body)
    m.path = before
    return frozenset(found)
