"""torch.distributed and the starting of processes."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments, exact_elements
from ddplint.engine.gradients import REDUCES
from ddplint.engine.library.environment import CUDA, DEVICES, LOCAL, RANKS, SIZE
from ddplint.engine.library.registry import IN_SIGHT, handles, mark_in_place, names_a_place
from ddplint.engine.machine import Machine
from ddplint.engine.values import (
    AGREED,
    CONTAINERS,
    FALSE,
    NONE,
    TRUE,
    Atom,
    Bound,
    Func,
    Lib,
    Obj,
    Sym,
    Value,
    one,
    union,
)

COLLECTIVES = {
    "barrier", "all_reduce", "all_gather", "broadcast", "reduce", "gather", "scatter", "reduce_scatter", "all_to_all",
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "all_gather_into_tensor",
    "reduce_scatter_tensor", "monitored_barrier", "all_to_all_single", "all_reduce_coalesced",
}  # fmt: skip


MPI_COLLECTIVES = {"barrier", "bcast", "gather", "scatter", "reduce", "allgather", "allreduce", "alltoall"}
"""The methods of mpi4py's communicators that every rank has to call, in small letters."""
_GROUP_AT = {
    "barrier": 0, "monitored_barrier": 0, "all_reduce": 2, "all_gather": 2, "broadcast": 2, "all_gather_object": 2,
    "broadcast_object_list": 2, "all_gather_into_tensor": 2, "all_to_all": 2, "reduce": 3, "gather": 3, "scatter": 3,
    "reduce_scatter": 3, "reduce_scatter_tensor": 3, "gather_object": 3, "scatter_object_list": 3,
    "all_to_all_single": 4,
}  # fmt: skip
"""Where each takes its group among the arguments without a name."""
_WORLD = ("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD")


def collective(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    """A collective operation of ``torch.distributed``."""
    last = name.rsplit(".", 1)[-1]
    group = args.get(_GROUP_AT.get(last), "group")
    if group is not None and (group.constant() is None or group.key in _WORLD):
        group = None
    tensors = union(args.positional[:2]) if args.positional else NONE
    if node is not None:
        event = m.record(facts.Collective, node, name=last, tensors=tensors, group=group)
    if last == "scatter_object_list" and args.positional:
        for atom in args.positional[0].atoms():
            if isinstance(atom, Obj) and atom.kind == "list":
                m.write(atom.attrs, "[0]", one(Sym("scattered part", ranked=True, made_of=tensors.taint)))
    if ".nn." in name:  # it gives what the others do in place
        return one(Sym(f"{last} result", opaque=False, made_of=tensors.taint | {AGREED}))
    if last not in _GIVES_NOTHING:
        at = 1 if last in ("gather", "gather_object") else 0
        given = args.get(at, *_CHANGED)
        if given is not None:
            _agree(m, given)
        if isinstance(node, ast.Call):
            named = [keyword.value for keyword in node.keywords if keyword.arg in _CHANGED]
            for part in [*node.args[at : at + 1], *named]:
                _agree_on(m, part)
    if node is not None:
        _without_gradient(m, event, args, node)
    return one(Sym(f"{last} handle", opaque=False))


_GATHERS = frozenset({"all_gather", "all_gather_into_tensor", "_all_gather_base"})


def _without_gradient(m: Machine, event: facts.Collective, args: Arguments, node: ast.AST) -> None:
    """What comes out of a collective is made of it, where what went in has a gradient that this call cuts off."""
    if event.name not in _GATHERS | REDUCES or not m.grad or not isinstance(node, ast.Call):
        return
    local = args.get(0, "tensor") if event.name in REDUCES else args.get(1, "tensor", "input_tensor")
    if local is not None and any(isinstance(p, facts.Forward) and p.grad for p in local.taint) and args.positional:
        given = node.args[0]
        now = m.evaluate(given) if names_a_place(given) else args.positional[0]
        mark_in_place(m, given, now, frozenset({event}))


_MAY_WAIT = re.compile(r"barrier|sync|wait|join|reduce|gather|broadcast|train|fit|epoch|dist|comm", re.IGNORECASE)


def may_wait_unseen(called: Atom, args: Arguments) -> bool:
    """Whether ranks may wait for one another in a call out of sight.

    Its name says so, it is a function of a library of which nothing is known, or it is given a wrapper.
    """
    if _MAY_WAIT.search(called.key.rpartition(".")[2]):
        return True
    if isinstance(called, Lib) and called.name.split(".")[0] not in IN_SIGHT:
        return True
    return any(isinstance(atom, Obj) and atom.kind == "ddp" for value in args.all() for atom in value.atoms())


def waited(m: Machine, node: ast.AST | None) -> None:
    """Record that ranks may wait for one another."""
    if node is not None:
        m.record(facts.Wait, node)


@handles("time.sleep", "torch.distributed.destroy_process_group")
def _sleep(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    waited(m, node)
    return NONE


_GIVES_NOTHING = ("barrier", "monitored_barrier", "scatter", "scatter_object_list", "all_to_all", "all_to_all_single")


_CHANGED = ("tensor", "tensor_list", "tensors", "output_tensor", "object_list", "gather_list", "object_gather_list")
"""What a collective calls the argument that holds what the ranks put together."""


def _agree(m: Machine, value: Value) -> None:
    """From here on a tensor, or each element of a list, holds what the ranks put together."""
    for atom in value.atoms():
        if isinstance(atom, Obj) and atom.kind == "list":
            for name, element in list(atom.attrs.items()):
                m.write(atom.attrs, name, one(Sym(f"agreed {element.key}"[:200], made_of=element.taint | {AGREED})))
        elif isinstance(atom, Sym):
            _replace(m, atom, _agreed(atom))
            for name, part in list(m.sym_attrs.items()):
                if name.startswith(f"{atom.text}["):
                    m.write(m.sym_attrs, name, Value(tuple((case, _agreed(one)) for case, one in part.alternatives)))


_MOST_HELD = 2_000
"""How many things are looked through for what a collective changed in place."""


def _replace(m: Machine, old: Sym, new: Atom) -> None:
    """Let the names, attributes and elements in sight that hold one thing hold another."""
    scopes: list[dict[str, Value]] = []
    for frame in m.frames:
        scopes.append(frame.names)
        if isinstance(frame.me, Obj):
            scopes.append(frame.me.attrs)
    seen, looked = {id(scope) for scope in scopes}, 0
    for scope in scopes:  # grows on the way
        for name, value in list(scope.items()):
            looked += 1
            if any(atom == old for _, atom in value.alternatives):
                changed = tuple((case, new if atom == old else atom) for case, atom in value.alternatives)
                m.write(scope, name, Value(changed))
            for _, atom in value.alternatives:
                if not isinstance(atom, Obj) or looked > _MOST_HELD or id(atom.attrs) in seen:
                    continue
                if atom.kind == "instance" or atom.kind in CONTAINERS:
                    seen.add(id(atom.attrs))
                    scopes.append(atom.attrs)


_SHARING = frozenset({"view", "view_as", "reshape", "detach", "squeeze", "unsqueeze", "flatten", "contiguous"})
"""What gives the same numbers under another shape: what is done to it in place is done to the tensor."""


def _agree_on(m: Machine, node: ast.expr) -> None:
    """What is written as the tensor of a collective holds, from here on, what the ranks put together."""
    from ddplint.engine.expressions import assign

    match node:
        case ast.Attribute(value=inner, attr="data") | ast.Call(func=ast.Attribute(value=inner, attr=_)):
            if isinstance(node, ast.Attribute) or getattr(node.func, "attr", "") in _SHARING:
                _agree_on(m, inner)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            value = m.evaluate(node)
            if any(isinstance(atom, Sym) for atom in value.atoms()):
                assign(m, node, Value(tuple((case, _agreed(atom)) for case, atom in value.alternatives)))


def _agreed(atom: Atom) -> Atom:
    return replace(atom, made_of=atom.made_of | {AGREED}) if isinstance(atom, Sym) else atom


@handles("torch.distributed.get_rank")
def _get_rank(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    group = args.get(0, "group")
    if group is not None and group.constant() is not None:
        return one(Sym(f"rank in {group.key}", ranked=True, opaque=False))
    return one(RANKS)


@handles("torch.distributed.get_node_local_rank")
def _local(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(LOCAL)


@handles("mpi4py.MPI.COMM_WORLD.Get_rank")
def _rank_of_mpi(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(RANKS)


@handles("torch.distributed.get_world_size", "mpi4py.MPI.COMM_WORLD.Get_size")
def _world(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(SIZE)


@handles(
    "mmcv.runner.get_dist_info",
    "mmcv.runner.dist_utils.get_dist_info",
    "mmengine.dist.get_dist_info",
    "mmengine.dist.utils.get_dist_info",
)
def _rank_and_world(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    made = m.new("tuple", node)
    made.attrs.update({"[0]": one(RANKS), "[1]": one(SIZE)})
    return one(made)


@handles("torch.distributed.init_process_group")
def _init_process_group(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    size = args.get(3, "world_size")
    if node is not None:
        m.record(facts.Join, node, size=size, backend=args.get(0, "backend"))
    return NONE


@handles(
    "torch.distributed.is_initialized",
    "torch.distributed.is_available",
    "torch.distributed.is_torchelastic_launched",
    "torch.distributed.is_nccl_available",
)
def _true(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return TRUE


@handles("torch.cuda.is_available")
def _cuda(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(Sym(CUDA.text, opaque=False))


@handles("torch.cuda.device_count")
def _devices(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return one(DEVICES)


@handles("torch.distributed.new_group", "torch.distributed.split_group")
def _group(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    alone = args.get(5, "use_local_synchronization")
    if node is not None and (alone is None or alone == FALSE):
        m.record(facts.Collective, node, name=name.rsplit(".", 1)[-1], tensors=NONE, group=None)
    return one(m.new("group", node, Lib(name)))


@handles(
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.start_processes",
    "torch.multiprocessing.spawn.spawn",
    "torch.multiprocessing.spawn.start_processes",
)
def _spawn(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    target = args.get(0, "fn")
    given = args.get(1, "args")
    passed = exact_elements(given) if given is not None else []
    rest = [given] if passed is None and given else []
    _start(m, target, [one(LOCAL), *(passed or [])], node, rest, _starts_anew(name, args))
    return NONE


def _starts_anew(name: str, args: Arguments) -> bool:
    """Whether processes are surely started as interpreters of their own, and not as copies of this one."""
    at = 5 if name.endswith("start_processes") else 4
    method = args.get(at, "start_method")
    return not args.more and (method is None or method.constant() == "spawn")


@handles("torch.multiprocessing.Process", "multiprocessing.Process", "multiprocessing.context.Process")
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
    m: Machine,
    target: Value | None,
    passed: list[Value],
    node: ast.AST | None,
    rest: list[Value] | None = None,
    anew: bool = False,
) -> None:
    if target is None or node is None:
        return
    m.record(facts.Spawn, node, anew=anew)
    m.workers += 1
    before, loops, m.loops = m.path, m.loops, []
    try:
        m.apply(target, Arguments(passed, rest=rest or []), node)
    finally:
        m.workers -= 1
        m.path, m.loops = before, loops


def apply_quietly(m: Machine, target: Value, passed: list[Value], node: ast.AST | None) -> None:
    """Call ``target``; whatever ends in it, this path goes on."""
    before = m.path
    m.apply(target, Arguments(passed), node)
    m.path = before
