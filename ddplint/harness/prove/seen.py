"""What is noted of a program while its ranks run it; plain values, so that they travel between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

Batch = list[int]  # the numbers of its samples in the data set
Parameters = dict[str, list[float]]  # by name, flat


@dataclass
class Step:
    """An optimizer step: its micro-batches, how often all gradients were averaged for it, and the gradients, flat."""

    batches: int
    syncs: int
    gradients: list[float] = field(default_factory=list)


@dataclass
class Written:
    """A file that was written by ``torch.save`` and read back at once: was it ``readable``, was it what was written."""

    path: str
    readable: bool
    same: bool


@dataclass
class Sum:
    """A call of ``all_reduce`` in a line of the program: what the rank ``gave``, and ``got`` if it got back."""

    line: int
    gave: float
    got: float | None = None


@dataclass
class Loaded:
    """What became of a state dict that was loaded into the plain model.

    ``prefixed`` of its ``keys`` begin with ``module.``. The model may have ``refused`` it; with ``strict=False``,
    ``changed`` of the model's ``tensors`` are then other than before, bit by bit.
    """

    keys: int
    prefixed: int
    refused: bool
    tensors: int
    changed: int


@dataclass
class Seen:
    """What one rank did: its passes over the loader, its optimizer steps, its files, its parameters at the end.

    ``checks`` are the passes without gradients. ``read`` is what ``torch.load`` gave. ``loaded`` is there on
    rank 0 alone, where a state dict was left in a file. ``waited`` is the line of a call that waited for other
    ranks until the time was out; the rank did nothing after it. ``warned`` tells whether torch told that something went
    backward through a collective.
    """

    passes: list[list[Batch]] = field(default_factory=list)
    checks: list[list[Batch]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    read: list[Parameters] = field(default_factory=list)
    loaded: Loaded | None = None
    parameters: Parameters = field(default_factory=dict)
    waited: int | None = None
    warned: bool = False


@dataclass
class Run:
    """What each of the ``ranks`` did, and one process ``alone`` with the batches of all of them, if it came to that."""

    ranks: list[Seen]
    alone: Seen | None = None


def joined(ranks: list[Seen]) -> list[list[Batch]]:
    """The passes of one process that is given what all ``ranks`` were given: batch by batch, one after another.

    Raises ``ValueError`` where the ranks had different numbers of passes or batches.
    """
    by_pass = zip(*(seen.passes for seen in ranks), strict=True)
    return [[list(chain(*batches)) for batches in zip(*passes, strict=True)] for passes in by_pass]


def difference(some: Parameters, others: Parameters) -> float:
    """The largest difference between two sets of parameters of one model."""
    pairs = (pair for name in some for pair in zip(some[name], others[name], strict=True))
    return max((abs(one - other) for one, other in pairs), default=0.0)
