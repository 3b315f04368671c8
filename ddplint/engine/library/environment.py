"""What the launcher tells each rank: the environment and the numbers in it."""

from __future__ import annotations

import ast
import re
from typing import Any

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.conditions import ALWAYS, NEVER, NODES, PER_NODE, WORLD, Key, Path, fact
from ddplint.engine.library.registry import first_argument, handles
from ddplint.engine.machine import Machine
from ddplint.engine.names import hints_rank
from ddplint.engine.values import CLOCK, NONE, Atom, Const, Obj, Ranked, Sym, Value, one

RANKS = Ranked(tuple(range(WORLD)), "rank")


LOCAL = Ranked(tuple(range(PER_NODE)) * NODES, "local rank")


NODE = Ranked(tuple(rank // PER_NODE for rank in range(WORLD)), "node rank")


SIZE = Ranked((WORLD,) * WORLD, "world size")


LOCAL_SIZE = Ranked((PER_NODE,) * WORLD, "local world size")


CUDA = Key("cuda is available")
"""The test whether there is an accelerator."""
DEVICES = Sym("device count", opaque=False)
"""How many devices the node has."""


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


ENVIRON = Obj(0, "environ", None, {})


def environment(m: Machine, name: Any) -> Value:
    """What the environment variable ``name`` holds: known for ranks and sizes, or stored by the program."""
    stored = m.sym_attrs.get(f"environ[{name!r}]")
    known = _ENVIRONMENT.get(name) if isinstance(name, str) else None
    if known is not None:
        return one(Ranked(tuple(str(value) for value in known.values), known.role))
    if stored is not None:
        return stored
    return one(Sym(f"environ[{name!r}]", ranked=isinstance(name, str) and hints_rank(name)))


def in_environment(name: Atom) -> tuple[Path, Path]:
    """The paths on which an environment variable is set, and on which it is not."""
    if isinstance(name, Const) and name.value in _LAUNCHED:
        return ALWAYS, NEVER
    key = Key(f"{name.key} in os.environ")
    return fact(key, True), fact(key, False)


SINGLES_OUT = re.compile(r"main|master|chief|leader|primary|zero|root|first", re.IGNORECASE)
"""In the name of a switch: a launcher may give it to one process alone."""


def environ_method(m: Machine, me: Obj, name: str, args: Arguments, node: ast.AST | None) -> Value | None:
    """A method of ``os.environ``."""
    literal = args.positional[0].constant() if args.positional else ...
    if name in ("get", "setdefault", "pop", "__getitem__"):
        return environment(m, literal)
    return NONE


@handles("os.getenv")
def _getenv(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    return environment(m, first_argument(args).constant())


@handles(
    "time.time",
    "time.monotonic",
    "time.perf_counter",
    "time.process_time",
    "timeit.default_timer",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
)
def _clock(m: Machine, name: str, args: Arguments, node: ast.AST | None) -> Value:
    reading = facts.Reading(name, m.workers > 0)
    return one(Sym(f"{name}()", opaque=False, made_of=frozenset({CLOCK, reading})))
