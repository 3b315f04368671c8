"""ddp-wrap-before-move: a move or cast after the wrap cuts the gradients loose from DDP's hooks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import conjoin
from ddplint.engine.library import holds
from ddplint.engine.names import DDP
from ddplint.engine.placing import function_of
from ddplint.engine.questions import Program, is_cpu
from ddplint.engine.values import UNSEEN, Class, Const, Obj, Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place
from ddplint.rules.wording import argument, spelled, written

SYMBOL = "ddp-wrap-before-move"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Wraps of a model that moves afterwards."""
    for program in programs:
        for wrap in program.wraps:
            inner = [atom for atom in wrap.inner.within(wrap.path).atoms() if isinstance(atom, Obj)]
            if not inner or len(inner) != len(list(wrap.inner.within(wrap.path).atoms())):
                continue
            move = _first_late_move(program, wrap, inner)
            if move is not None:
                what = "moved to another device" if move.what == "device" else "cast to another dtype"
                said = f"The model is {what} after the wrap, at {place(move.site, wrap.site)}"
                harm = "so its gradients are no longer reduced and the ranks drift apart. Do it before the wrap"
                details = (said, harm, _moved_first(wrap.site, move))
                yield finding(SYMBOL, wrap.site, details, [(move.site, f"it is {what} here")])
            elif _ids_without_move(program, wrap, inner):
                said = "device_ids is given, but the model was never moved from the CPU"
                harm = "so the constructor raises. Move the model first"
                yield finding(SYMBOL, wrap.site, (said, harm, _moved_first(wrap.site)))


def _moved_first(wrap: Site, move: facts.Move | None = None) -> str:
    """The wrap as it should be written, with the move that came too late in it."""
    how = ".to(dtype)" if move is not None and move.what == "dtype" else ".to(device)"
    call = move.site.node if move is not None and function_of(move.site) == function_of(wrap) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if all(written(value, "") for value in given):
            how = f".{call.func.attr}({', '.join(ast.unparse(part) for part in [*call.args, *call.keywords])})"
    module = spelled(argument(wrap, 0, "module", "model"), "model")
    name, rest = DDP.rsplit(".", 1)[-1], ""
    if isinstance(wrap.node, ast.Call):
        name = written(wrap.node.func, name)
        rest = ", ..." if len(wrap.node.args) + len(wrap.node.keywords) > 1 else ""
    return f"{name}({module}{how}{rest})"


def _first_late_move(program: Program, wrap: facts.Wrap, inner: list[Obj]) -> facts.Move | None:
    for move in program.trace.of(facts.Move):
        if move.index < wrap.index or not conjoin(move.path, wrap.path):
            continue
        if move.module is not wrap.wrapper and move.module not in inner:
            continue
        if move.what == "device" and (is_cpu(move.target) or any(thing.notes.get("placed") for thing in inner)):
            continue
        if move.what == "dtype" and not _changes_dtype(program, move, inner):
            continue
        if any(_placed_before(program, move, wrap, thing) for thing in inner):
            continue
        if any(_given_device(thing) for thing in inner) and move.what == "device":
            continue
        if _trains_after(program, move, wrap.wrapper):
            return move
    return None


_DTYPES = frozenset({"half", "float16", "bfloat16", "double", "float64"})
_DEFAULT = frozenset({"float", "float32"})


def _changes_dtype(program: Program, move: facts.Move, inner: list[Obj]) -> bool:
    """Whether a cast surely gives the module another dtype: away from torch's default one, or back to it."""
    names = _dtypes(move)
    if names & _DTYPES:
        return names <= _DTYPES | _DEFAULT
    if not names or not names <= _DEFAULT:
        return False
    return any(
        e.what == "dtype" and e.index < move.index and any(holds(t, e.module) or holds(e.module, t) for t in inner)
        and (e.module in inner or "copy of" not in e.module.notes)
        and not _dtypes(e) <= _DEFAULT
        for e in program.trace.of(facts.Move)
    )  # fmt: skip


def _dtypes(move: facts.Move) -> set[str]:
    return {atom.key.strip("'").rsplit(".", 1)[-1] for atom in move.target.atoms()}


def _placed_before(program: Program, late: facts.Move, wrap: facts.Wrap, thing: Obj) -> bool:
    """Whether the module, or a part of it, went the same way before the wrap."""
    for move in program.trace.of(facts.Move):
        if move.index >= wrap.index or move.what != late.what:
            continue
        if not (holds(thing, move.module) or holds(move.module, thing)):
            continue
        if move.what == "device" and is_cpu(move.target):
            continue
        if move.what == "dtype" and move.target.key != late.target.key:
            continue
        if conjoin(move.path, late.path):
            return True
    return False


def _given_device(thing: Obj) -> bool:
    """Whether its constructor was told where to be, or it or what it was given comes ready-made from elsewhere."""
    args = thing.notes.get("args")
    if args is not None and any("device" in name for name in args.keywords):
        return True
    return args is not None and any("device" in value.key or UNSEEN in value.taint for value in args.positional)


def _trains_after(program: Program, move: facts.Move, wrapper: Obj) -> bool:
    for backward in program.trace.of(facts.Backward):
        if not any(thing is wrapper for thing, _ in program.wrappers_in(backward)):
            continue
        if backward.index > move.index or any(loop.repeats and loop in backward.loops for loop in move.loops):
            if conjoin(backward.path, move.path):
                return True
    return False


def _names_devices(ids: Obj) -> bool:
    """Whether a list holds devices: ``[None]`` is what a run on the CPU passes where the wrap is written for GPUs."""
    return bool(ids.attrs) and not any(atom == Const(None) for value in ids.attrs.values() for atom in value.atoms())


def _ids_without_move(program: Program, wrap: facts.Wrap, inner: list[Obj]) -> bool:
    ids = [atom for _, atom in wrap.device_ids.within(wrap.path).alternatives]
    if not ids or not all(isinstance(atom, Obj) and atom.kind == "list" and _names_devices(atom) for atom in ids):
        return False
    for thing in inner:
        if thing.kind != "module" or thing.notes.get("placed") or _given_device(thing):
            return False
        if isinstance(thing.cls, Class) and (thing.cls.opaque_base or thing.cls.lookup("__init__") is None):
            return False
        if not isinstance(thing.cls, Class) and not (thing.cls is not None and thing.cls.name.startswith("torch.nn.")):
            return False
        for move in program.trace.of(facts.Move):
            if move.what == "device" and (holds(thing, move.module) or holds(move.module, thing)):
                return False
    return True


RULE = Rule(
    id="W7105",
    symbol=SYMBOL,
    message="%s, %s: %s",
    check=check,
)
