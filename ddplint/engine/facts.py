"""What a program does that matters to the rules, in the order in which it does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from ddplint.engine.conditions import Fact, Key, Path
from ddplint.engine.values import Obj, Site, Sym, Value


@dataclass(eq=False)
class Loop:
    """A loop that is being run. ``repeats``: it can go round more than once. ``over``: the loaders it goes over.

    ``depth``: how many calls lead to the function that holds it (for a generator's loop, the one that goes over it).
    ``rounds``: how often it goes round, as a test would spell it; empty where that is not known.
    ``order``: the draws that decide what it goes over, and in which order.
    """

    uid: int
    site: Site
    repeats: bool = True
    over: frozenset[Obj] = frozenset()
    depth: int = 0
    rounds: str = ""
    order: frozenset[object] = frozenset()

    @property
    def mark(self) -> str:
        """What the text of every value that changes with this loop holds."""
        return f"loop@{self.uid};"


@dataclass(eq=False)
class Event:
    """Where and under what circumstances something happens.

    ``chain`` are the calls that lead to the function it stands in, outermost first; ``entered``: for each of them the
    cases in which it is made; ``path`` the cases in which it happens, callers' tests included; ``loops`` the loops
    around it, callers' loops included, outermost first; ``worker``: it happens in a process that the program spawned;
    ``asked``: what the tests around it may have answered, of those whose grounds are known (``path`` forgets some).
    """

    index: int
    site: Site
    chain: tuple[Site, ...]
    entered: tuple[Path, ...]
    path: Path
    loops: tuple[Loop, ...]
    worker: bool
    asked: frozenset[Fact]


@dataclass(eq=False)
class Wrap(Event):
    """``DistributedDataParallel(module)``. ``moved``: the moves and casts the module had before."""

    wrapper: Obj
    inner: Value
    device_ids: Value
    moved: tuple[Move, ...]


@dataclass(eq=False)
class Iterate(Event):
    """A pass over a loader begins. ``replay``: the passes after the first repeat its batches (``itertools.cycle``)."""

    loader: Obj
    grad: bool
    replay: str = ""


@dataclass(eq=False)
class Forward(Event):
    """A module (a wrapper, or any other) is called. ``quiet``: the paths on which ``no_sync`` holds over it."""

    module: Obj
    grad: bool
    quiet: tuple[tuple[Obj, Path], ...]
    hidden: bool
    """Whether a context manager that cannot be seen through stands around it."""
    method: str = ""
    """Of a network that a wrapper holds: the method of it that is called in place of its ``forward``."""
    held: tuple[Site, ...] = ()
    """The calls from outside of objects that hold the module, up to the one that calls it; outermost first."""


@dataclass(eq=False)
class Backward(Event):
    """``loss.backward()``; ``made_of`` is what the loss was computed from."""

    made_of: frozenset[object]
    quiet: tuple[tuple[Obj, Path], ...]


@dataclass(eq=False)
class Step(Event):
    """An optimizer steps."""

    optimizer: Value


@dataclass(eq=False)
class ZeroGrad(Event):
    """The gradients that an optimizer steps on, or those of a module, are dropped."""

    thing: Obj


@dataclass(eq=False)
class SetEpoch(Event):
    """``sampler.set_epoch(epoch)`` or ``sampler.epoch = epoch``."""

    sampler: Obj
    epoch: Value


@dataclass(eq=False)
class StateDict(Event):
    """``module.state_dict()``, or another method (``how``) that names the module's parts as that does."""

    module: Obj
    stripped: bool = False
    how: str = "state_dict"


@dataclass(frozen=True)
class Inside:
    """In what a value is made of: with this text, it is the network that a wrapper holds, of a class out of sight."""

    wrapper: Obj
    text: str


@dataclass(frozen=True)
class KeyOf:
    """In what a value is made of: a key of a state dict."""

    state: StateDict


@dataclass(frozen=True)
class PartOf:
    """In what a value is made of: an entry of a state dict."""

    state: StateDict


@dataclass(frozen=True)
class Weights:
    """In what a value is made of: the parameters or buffers of a network, or what hangs on them, such as gradients."""

    module: Obj


def begun_by(text: Sym, first: Value | None) -> Sym:
    """A text made of several parts: of the keys in it, it begins as those do that stand first."""
    keys = {part for part in text.made_of if isinstance(part, KeyOf)}
    lost = keys - first.taint if first is not None else keys
    return replace(text, made_of=text.made_of - lost) if lost else text


@dataclass(eq=False)
class Save(Event):
    """Something is written to a file. ``how`` names the call for the message."""

    how: str
    file: Value
    content: Value | None
    opened: bool = False


@dataclass(eq=False)
class Load(Event):
    """A file is read."""

    file: Value
    how: str
    placed: Value | None = None


@dataclass(eq=False)
class LoadInto(Event):
    """``module.load_state_dict(state)``; ``made_of`` is where the state came from.

    ``entry``: the entry of the file that it is, the outermost one (empty: the file itself; None: not seen).
    """

    module: Obj
    made_of: frozenset[object]
    entry: str | None = None


@dataclass(eq=False)
class Move(Event):
    """A module goes to another ``"device"`` or ``"dtype"``."""

    module: Obj
    what: str
    target: Value


@dataclass(eq=False)
class NoSync(Event):
    """A ``no_sync`` is entered."""

    wrapper: Obj
    until: int = -1
    """The index of the first event after it is left."""
    unsure: bool = False
    """Whether something else may be entered in its place in the same cases."""


@dataclass(eq=False)
class Toggle(Event):
    """An attribute of a wrapper is set."""

    wrapper: Obj
    name: str
    value: Value


@dataclass(eq=False)
class Prepare(Event):
    """``wrapper.reducer.prepare_for_backward(...)``: what a forward does at its end is done by hand."""

    wrapper: Obj


@dataclass(eq=False)
class Collective(Event):
    """A call that every rank of the group has to make. ``group`` None: of all ranks.

    In what a value is made of: it came out of this call, which was given something with a gradient and returns none.
    """

    name: str
    tensors: Value
    group: Value | None


@dataclass(frozen=True)
class Distorted:
    """In what a value is made of: what came out of a collective, divided by the number of ranks or used nonlinearly."""

    by: Collective


@dataclass(frozen=True)
class Compared:
    """In what a value is made of: the numbers that a forward gave, in a comparison, which has no gradient."""

    by: Forward


@dataclass(eq=False)
class Wait(Event):
    """A pause, or a call out of sight in which ranks may wait for one another."""


@dataclass(eq=False)
class Join(Event):
    """The process group is set up; ``size`` is the world size, ``backend`` the backend where the program gives one."""

    size: Value | None
    backend: Value | None = None


@dataclass(eq=False)
class Spawn(Event):
    """The program starts its ranks. ``anew``: as interpreters of their own, which share no generator's state."""

    anew: bool = False


@dataclass(eq=False)
class Seed(Event):
    """A generator is seeded, or set to a state. ``seed`` None: from the machine's own randomness.

    ``generator`` None: the global one of ``source``, or any of them where that is empty.
    """

    generator: Obj | None
    seed: Value | None
    source: str


@dataclass(eq=False)
class Draw(Event):
    """A random split, permutation or shuffle of ``what``. ``generator`` None: the global one of ``source``.

    ``option``: the argument that would seed it, for the message.
    ``by_worker``: a loader's worker makes it, whose generators are seeded by torch's.
    """

    how: str
    generator: Value | None
    what: Value
    source: str
    option: str = ""
    by_worker: bool = False


@dataclass(frozen=True)
class ShareOf:
    """In what a value is made of: the part that each rank takes, by its rank, of what was drawn."""

    draw: Draw


@dataclass(frozen=True)
class Noise:
    """In what a value is made of: random numbers. What they are compared to makes a draw of samples of them."""

    draw: Draw


@dataclass(frozen=True)
class Reading:
    """In what a value is made of: what a process reads for itself, as the time is. ``worker``: of a spawned one."""

    what: str
    worker: bool


@dataclass(frozen=True)
class SizeOf:
    """In what a value is made of: how large the batches of a loader are, which every rank has alike."""

    loader: Obj


@dataclass(frozen=True)
class Caught:
    """In what a test is made of: whether an error comes out of the body of a ``try``."""

    tried: Site


@dataclass(eq=False)
class Leave(Event):
    """A ``break``, ``continue``, ``return`` or ``while``'s end; ``loop`` is the one that is left or gone on with.

    None: it is a ``return`` from a function that a caller's loop runs, recorded where a test that is not known decides.
    """

    statement: str
    loop: Loop | None


@dataclass(eq=False)
class Escape(Event):
    """An object is handed to code out of sight."""

    thing: Obj


E = TypeVar("E", bound=Event)


@dataclass
class Trace:
    """Everything one program was seen to do."""

    entry: str
    events: list[Event] = field(default_factory=list)
    complete: bool = True
    asked: dict[Key, int] = field(default_factory=dict)
    """For each comparison with a counter, how many calls lead to the function that makes it."""
    grounds: dict[Key, frozenset[object]] = field(default_factory=dict)
    """For each test that is not known, what the values that it asks about were made of."""
    decided: dict[Key, list[Site]] = field(default_factory=dict)
    """The ``if`` statements that each such test decides."""
    parting: list[Site] = field(default_factory=list)
    """The ``if`` statements that some ranks pass and others do not."""
    uneven: set[int] = field(default_factory=set)
    """The indices of what happens where ranks may end at different rounds: in a ``join()``."""
    statements: int = 0
    """How many statements were run, a measure of the work."""
    _by_kind: dict[type[Event], tuple[int, list[Event]]] = field(default_factory=dict, repr=False)
    """For each kind that was asked for, how many events were gone through and those of the kind among them."""

    def of(self, kind: type[E]) -> Iterator[E]:
        """The events of one kind, in order."""
        gone_through, found = self._by_kind.get(kind, (0, []))
        if gone_through < len(self.events):
            found.extend(event for event in self.events[gone_through:] if isinstance(event, kind))
            self._by_kind[kind] = len(self.events), found
        return iter(cast("list[E]", found))

    def cut(self, length: int) -> None:
        """Forget the events after the first ``length``."""
        del self.events[length:]
        self._by_kind.clear()
