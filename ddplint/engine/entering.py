"""Context managers: what ``with`` enters and what holds inside."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import Path, conjoin
from ddplint.engine.machine import Around, Machine
from ddplint.engine.members import method
from ddplint.engine.values import NONE, Atom, Class, Obj, Sym, Value, one, split, under, union


def enter(m: Machine, node: ast.expr, value: Value, rest: Callable[[Value], None]) -> None:
    """``with value:`` around ``rest``, which gets what ``as`` would bind."""
    alternatives = value.within(m.path).alternatives
    if all(is_plain(atom) for _, atom in alternatives):
        depth = len(m.around)
        regions: list[facts.NoSync] = []
        entered = []
        for case, atom in alternatives:
            path = conjoin(m.path, (case,))
            before = len(regions)
            entered.append(under(enter_plain(m, node, atom, path, regions), (case,)))
            for region in regions[before:]:
                region.unsure = any(not other.excludes(case) for other, thing in alternatives if thing is not atom)
        try:
            rest(union(entered) if entered else NONE)
        finally:
            del m.around[depth:]
            for region in regions:
                region.until = len(m.trace.events)
        return
    m.choose(value, lambda atom: _enter_one(m, node, atom, rest))


def is_plain(atom: Atom) -> bool:
    """Whether a context manager is entered without running code of the project."""
    if isinstance(atom, Obj):
        if atom.kind == "generator":
            return False
        return not (isinstance(atom.cls, Class) and method(atom, "__enter__") is not None)
    return True


def enter_plain(m: Machine, node: ast.expr, atom: Atom, path: Path, regions: list[facts.NoSync]) -> Value:
    """What ``as`` binds for such a context manager, now active; ``regions`` gets the ``no_sync`` it opens."""
    match atom:
        case Obj(kind="nosync"):
            m.around.append(Around("nosync", atom.notes["wrapper"], path))
            before, m.path = m.path, path
            site = atom.site if atom.site is not None and atom.site.module is m.frame.home.module else m.site(node)
            regions.append(m.record(facts.NoSync, site, wrapper=atom.notes["wrapper"]))
            m.path = before
            return NONE
        case Obj(kind="context"):
            name = atom.notes["name"]
            if name == "grad":
                yes, no = split(atom.notes["enabled"])
                if no:
                    m.around.append(Around("nograd", None, conjoin(path, no)))
                if yes:
                    m.around.append(Around("grad", None, conjoin(path, yes)))
            elif name == "device":
                m.around.append(Around("device", None, path))
            elif name == "join":
                m.around.append(Around("join", None, path))
            elif name == "hidden":
                m.around.append(Around("hidden", None, path))
            elif name == "lock":
                m.around.append(Around("lock", None, path))
            return atom.notes.get("entered", one(atom))  # type: ignore[no-any-return]
        case Obj(kind="device"):
            m.around.append(Around("device", None, path))
            return one(atom)
        case Obj():
            return one(atom)
        case Sym():
            hidden = (
                "sync" in atom.text
                or "accum" in atom.text
                or any(isinstance(part, Obj) and part.kind in ("ddp", "nosync") for part in atom.made_of)
            )
            if hidden:
                m.around.append(Around("hidden", None, path))
            return one(atom)
        case _:
            return one(atom)


def _enter_one(m: Machine, node: ast.expr, atom: Atom, rest: Callable[[Value], None]) -> Value:
    if isinstance(atom, Obj) and atom.kind == "generator":
        consumer = m.frame

        def at_yield(value: Value) -> Value:
            with m.inside(consumer):
                rest(value)
            return NONE

        before = m.path
        returns = len(consumer.returns)
        result = m.run(atom.notes["func"], dict(atom.notes["bound"]), atom.site, atom.notes["me"], at_yield)
        if result is None:
            rest(one(Sym("entered")))
        elif (len(consumer.returns) == returns and result[1].yielded) or (not m.path and not result[1].yielded):
            m.path = before
        return NONE
    if isinstance(atom, Obj) and (enters := method(atom, "__enter__")) is not None:
        depth = len(m.around)
        rest(m.apply(enters, Arguments(), node))
        leaves = method(atom, "__exit__")
        if leaves is not None and m.path:
            m.apply(leaves, Arguments([NONE, NONE, NONE]), node)
        del m.around[depth:]
        return NONE
    enter(m, node, one(atom), rest)
    return NONE
