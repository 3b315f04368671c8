"""What an expression may be: alternatives, each under the case in which it is that."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from ddplint.engine.conditions import (
    ALWAYS,
    EVERY_RANK,
    NEVER,
    WORLD,
    Case,
    Key,
    Path,
    conjoin,
    fact,
    simplify,
    weakest,
)
from ddplint.engine.names import tells_rank

if TYPE_CHECKING:
    from ddplint.project import Module

UNSEEN = "unseen"
"""In what a value is made of: it comes from a parameter nobody passes or a call that cannot be followed."""
HANDLED = "handled out of sight"
"""In what a value is made of: what a wrapper's forward gave went through a call that is not followed."""
AGREED = "agreed"
"""In what a value is made of: the ranks put theirs together, and all have the same one."""
PICKED = "picked"
"""In what a value is made of: the elements of a tensor for which a test of its numbers holds, however many they are."""
CLOCK = "clock"
"""In what a value is made of: the time of the machine."""
SENT_HOME = "sent home"
"""In what a value is made of: it was sent to the processor."""
_LONGEST_KEY = 160
_MOST_ALTERNATIVES = 12
_MOST_MODELS = 3
_MOST_BASES = 12
_MOST_UNKNOWN = 3
_MOST_CONTAINERS = 4
_MOST_ELEMENTS = 64

FOLDING_ERRORS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError, Warning,
)  # fmt: skip
"""What Python may raise where literals are calculated with; a warning under ``-W error`` or ``-bb``."""


class Atom:
    """One thing a value can be."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """A text that is equal for what is equal, and stable from run to run."""
        raise NotImplementedError

    @property
    def per_rank(self) -> bool:
        """Whether ranks hold different values."""
        return False

    @property
    def taint(self) -> frozenset[Any]:
        """The things it was made of: objects, forwards, state dicts, loads."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class Const(Atom):
    """A literal. ``soft``: a default that configuration may change."""

    value: Any
    soft: bool = False

    @property
    def key(self) -> str:
        text = repr(self.value)
        return text if len(text) < _LONGEST_KEY else _digest(text)


@dataclass(frozen=True, slots=True)
class Ranked(Atom):
    """A number (or truth) known for each rank: the rank itself and what is computed from it."""

    values: tuple[Any, ...]
    role: str

    @property
    def key(self) -> str:
        return f"{self.role}{self.values}"

    @property
    def per_rank(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class Sym(Atom):
    """Something unknown, with what is known about it.

    ``opaque``: it comes from where the analysis cannot see. ``counter``: it counts rounds, steps or batches.
    """

    text: str
    ranked: bool = False
    counter: bool = False
    opaque: bool = True
    made_of: frozenset[Any] = frozenset()

    @property
    def key(self) -> str:
        return self.text

    @property
    def per_rank(self) -> bool:
        return self.ranked

    @property
    def taint(self) -> frozenset[Any]:
        return self.made_of


@dataclass(frozen=True, slots=True)
class Lib(Atom):
    """A name of a library, by its full dotted name."""

    name: str

    @property
    def key(self) -> str:
        return self.name

    @property
    def per_rank(self) -> bool:
        return tells_rank(self.name.rpartition(".")[2])


@dataclass(eq=False, slots=True)
class ModuleRef(Atom):
    """A module of the project (or a folder of it, without ``module``).

    ``pending`` are the statements of its top level that bind or change a name and have not been run yet.
    """

    path: str
    module: Module | None = None
    names: dict[str, Value] = field(default_factory=dict)
    library_stars: list[str] = field(default_factory=list)
    project_stars: list[ModuleRef] = field(default_factory=list)
    pending: dict[str, list[ast.stmt]] = field(default_factory=dict)
    ready: bool = False

    @property
    def name(self) -> str:
        """Where it stands below the root: no path of the machine belongs into what decides."""
        return self.module.display if self.module is not None else self.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        return f"module {self.name}"


@dataclass(eq=False, slots=True)
class Func(Atom):
    """A function or lambda of the project, with the scopes it was made in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    home: ModuleRef
    scopes: tuple[dict[str, Value], ...]
    defaults: dict[str, Value]
    owner: Class | None = None
    decorators: tuple[Value, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return getattr(self.node, "name", "<lambda>")

    @property
    def key(self) -> str:
        return f"{self.home.name}:{self.node.lineno}:{self.node.col_offset}"


@dataclass(eq=False, slots=True)
class Class(Atom):
    """A class of the project."""

    node: ast.ClassDef
    home: ModuleRef
    bases: tuple[Value, ...]
    attrs: dict[str, Value]
    keywords: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[Value, ...] = ()
    fields: tuple[str, ...] | None = None
    line: tuple[Class | Lib, ...] | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.node.name

    @property
    def key(self) -> str:
        return f"{self.home.name}:{self.node.lineno}:{self.node.name}"

    def mro(self) -> Iterator[Class | Lib]:
        """Itself and its bases in the order of look-up: a base that several share comes after all of them.

        An unknown base is left out.
        """
        if self.line is None:
            self.line = tuple(reversed(dict.fromkeys(reversed(list(islice(_linearised(self, ()), 300))))))
        yield from self.line

    @property
    def opaque_base(self) -> bool:
        """Whether a base is out of sight."""
        return any(
            isinstance(atom, Sym) for c in self.mro() if isinstance(c, Class) for b in c.bases for atom in b.atoms()
        )

    def lookup(self, name: str) -> Value | None:
        """A member of the class or of a base in the project."""
        for cls in self.mro():
            if isinstance(cls, Class) and name in cls.attrs:
                return cls.attrs[name]
        return None

    @property
    def is_sampler(self) -> bool:
        """Whether it derives from a library's sampler."""
        return any(isinstance(base, Lib) and base.name.endswith("Sampler") for base in self.mro())


def _linearised(cls: Class, below: tuple[Class, ...]) -> Iterator[Class | Lib]:
    """A class and its bases depth first, shared ones more than once."""
    yield cls
    if cls in below or len(below) > _MOST_BASES:
        return
    for base in cls.bases:
        for _, atom in base.alternatives:
            if isinstance(atom, Class):
                yield from _linearised(atom, (*below, cls))
            elif isinstance(atom, Lib):
                yield atom


@dataclass(eq=False, slots=True)
class Obj(Atom):
    """A thing made at one place: an instance, a container, a loader, a wrapper. Its attributes can be written."""

    uid: int
    kind: str
    cls: Class | Lib | None
    attrs: dict[str, Value]
    site: Site | None = None
    path: Path = ALWAYS
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        if self.kind == "device":
            return str(self.notes["value"])
        return f"#{self.uid}"

    @property
    def per_rank(self) -> bool:
        return bool(self.notes.get("per_rank"))

    @property
    def taint(self) -> frozenset[Any]:
        if self.kind in CONTAINERS:
            return _parts(self, 3)
        return frozenset({self, *self.notes.get("marks", ())})


def _parts(thing: Obj, depth: int) -> frozenset[Any]:
    """Itself and what its elements are made of; of the elements of a large container, the first."""
    found: set[Any] = {thing, *thing.notes.get("states", ()), *thing.notes.get("marks", ())}
    level, seen = [thing], {thing}
    while level:
        deeper: list[Obj] = []
        for holder in level:
            for value in islice(holder.attrs.values(), _MOST_ELEMENTS):
                for _, atom in value.alternatives:
                    if not isinstance(atom, Obj):
                        found |= atom.taint
                    elif atom not in seen:
                        seen.add(atom)
                        found.add(atom)
                        if atom.kind in CONTAINERS and depth:
                            found.update(atom.notes.get("states", ()))
                            found.update(atom.notes.get("marks", ()))
                            deeper.append(atom)
        level, depth = deeper, depth - 1
    return frozenset(found)


CONTAINERS = frozenset({"tuple", "list", "dict", "set", "file"})


@dataclass(eq=False, slots=True)
class Bound(Atom):
    """A method together with its object (``func`` None: a method of a library object)."""

    self: Atom
    name: str
    func: Func | None

    @property
    def key(self) -> str:
        return f"{self.self.key}.{self.name}"

    @property
    def taint(self) -> frozenset[Any]:
        return self.self.taint


@dataclass(eq=False, slots=True)
class Partial(Atom):
    """``functools.partial``."""

    func: Value
    args: list[Value]
    keywords: dict[str, Value]

    @property
    def key(self) -> str:
        return f"partial {self.func.key}"


@dataclass(frozen=True, slots=True)
class Super(Atom):
    """``super()`` in a method of ``owner`` on ``self``."""

    owner: Class
    self: Atom

    @property
    def key(self) -> str:
        return f"super {self.owner.key}"


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A node of a module."""

    module: Module
    node: ast.AST

    @property
    def line(self) -> int:
        """Its first line."""
        return getattr(self.node, "lineno", 1)

    @property
    def place(self) -> tuple[str, int, int, int, int]:
        """File, line, column, end line and end column: the same in every run over the same text."""
        node: Any = self.node
        return (
            self.module.path,
            getattr(node, "lineno", 1),
            getattr(node, "col_offset", 0),
            getattr(node, "end_lineno", 1) or 1,
            getattr(node, "end_col_offset", 0) or 0,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and (other.node is self.node or other.place == self.place)

    def __hash__(self) -> int:
        return hash(self.place)


Alternative = tuple[Case, Atom]


@dataclass(frozen=True, slots=True)
class Value:
    """A set of alternatives. Never empty: what cannot be has the value ``NOTHING``."""

    alternatives: tuple[Alternative, ...]

    def atoms(self) -> Iterator[Atom]:
        """The things it can be."""
        for _, atom in self.alternatives:
            yield atom

    def within(self, path: Path) -> Value:
        """The alternatives that can hold on ``path``."""
        alternatives = self.alternatives
        if path is ALWAYS or (len(alternatives) == 1 and alternatives[0][0] is _ANY):
            return self
        kept = []
        for alternative in alternatives:
            theirs = alternative[0]
            for case in path:
                if theirs is _ANY or not case.excludes(theirs):
                    kept.append(alternative)
                    break
        return self if len(kept) == len(alternatives) else Value(tuple(kept))

    @property
    def only(self) -> Atom | None:
        """The one atom it can be, if it is one."""
        if not self.alternatives:
            return None
        first = self.alternatives[0][1]
        for _, atom in self.alternatives:
            if atom is not first and atom != first:
                return None
        return first

    @property
    def key(self) -> str:
        text = "|".join(dict.fromkeys([atom.key for _, atom in self.alternatives]))
        return text if len(text) < _LONGEST_KEY else _digest(text)

    @property
    def taint(self) -> frozenset[Any]:
        found: frozenset[Any] = frozenset()
        for _, atom in self.alternatives:
            if part := atom.taint:
                found = found | part if found else part
        return found

    @property
    def per_rank(self) -> bool:
        for _, atom in self.alternatives:
            if atom.per_rank:
                return True
        if len(self.alternatives) < 2 or len({case.mask for case, _ in self.alternatives}) < 2:
            return False
        ranks: dict[str, int] = {}
        for case, atom in self.alternatives:
            ranks[atom.key] = ranks.get(atom.key, 0) | case.mask
        return len(set(ranks.values())) > 1

    @property
    def counter(self) -> bool:
        """Whether it may count rounds, steps or batches."""
        return any(isinstance(atom, Sym) and atom.counter for atom in self.atoms())

    @property
    def opaque(self) -> bool:
        """Whether it may come from where the analysis cannot see."""
        return any(isinstance(atom, Sym) and atom.opaque for atom in self.atoms())

    def constant(self) -> Any:
        """The literal it is, or ``...`` where it is not one literal."""
        atom = self.only
        return atom.value if isinstance(atom, Const) else ...


NOTHING = Value(())


def one(atom: Atom) -> Value:
    """The value that is this one thing."""
    return Value(((_ANY, atom),))


_ANY = Case()
NONE = one(Const(None))
TRUE = one(Const(True))
FALSE = one(Const(False))


def const(value: Any) -> Value:
    """The value of a literal."""
    if value is None:
        return NONE
    if value is True:
        return TRUE
    if value is False:
        return FALSE
    return one(Const(value))


def union(values: Iterable[Value]) -> Value:
    """All alternatives of all values, equal ones joined; bounded."""
    values = list(values)
    if values and len(values[0].alternatives) == 1 and all(value is values[0] for value in values):
        return values[0]
    return _joined(alternative for value in values for alternative in value.alternatives)


def _joined(given: Iterable[Alternative]) -> Value:
    gathered: dict[Any, tuple[Atom, list[Case]]] = {}
    models: list[Any] = []
    vague: list[Any] = []
    containers = unknown = 0
    for case, atom in given:
        mark: Any = _mark(atom) if isinstance(atom, Const) else atom
        known = gathered.get(mark)
        if known is not None:
            known[1].append(case)
            continue
        gathered[mark] = (atom, [case])
        if isinstance(atom, Sym):
            unknown += 1
            vague.append(mark)
        elif isinstance(atom, Obj):
            if atom.kind == "module":
                models.append(mark)
            elif atom.kind in CONTAINERS:
                containers += 1
                if containers > _MOST_CONTAINERS:
                    vague.append(mark)
    for mark in models[_MOST_MODELS:]:
        # one network is as good as another for what is asked here
        gathered[models[_MOST_MODELS - 1]][1].extend(gathered.pop(mark)[1])
    if unknown > _MOST_UNKNOWN or containers > _MOST_CONTAINERS:
        lost = [gathered.pop(mark) for mark in vague]
        either = blend("either", [Value(tuple((_ANY, atom) for atom, _ in lost))])
        gathered[either] = (either, [weakest([case for _, cases in lost for case in cases])])
    alternatives: list[Alternative] = []
    for atom, cases in gathered.values():
        for case in simplify(cases) if len(cases) > 1 else cases:
            alternatives.append((case, atom))
    if len(alternatives) > _MOST_ALTERNATIVES:
        alternatives = [(weakest(cases), atom) for atom, cases in gathered.values()]
        if len(alternatives) > _MOST_ALTERNATIVES:
            rest = Value(tuple(alternatives[_MOST_ALTERNATIVES - 1 :]))
            alternatives = [*alternatives[: _MOST_ALTERNATIVES - 1], (_ANY, blend("many", [rest]))]
    return Value(tuple(alternatives))


def _mark(atom: Const) -> tuple[type, bool, Any]:
    """What equal literals have in common; 1, 1.0 and True are not equal."""
    value = atom.value
    return type(value), atom.soft, value if isinstance(value, str | int | None) else atom.key


def under(value: Value, path: Path) -> Value:
    """The value as it is on ``path``: every alternative carries the path's cases."""
    if path is ALWAYS or path == ALWAYS:
        return value
    found: list[Alternative] = []
    for case, atom in value.alternatives:
        for other in path:
            if (both := case.both(other)) is not None:
                found.append((both, atom))
    return _joined(found) if len(found) > len(value.alternatives) else Value(tuple(found))


def blend(operation: str, values: Iterable[Value], opaque: bool | None = None) -> Sym:
    """The unknown result of an operation on values: made of what they were made of."""
    values = list(values)
    taint: frozenset[Any] = frozenset()
    for value in values:
        if part := value.taint:
            taint = taint | part if taint else part
    text = f"{operation}({', '.join(v.key for v in values)})"
    if len(text) > _LONGEST_KEY:
        text = f"{operation}({_digest(text)})" + _marks(text)
    return Sym(
        text,
        ranked=any(v.per_rank for v in values),
        counter=any(v.counter for v in values),
        opaque=any(v.opaque for v in values) if opaque is None else opaque,
        made_of=taint,
    )


def spelled(value: Value) -> list[Value]:
    """What takes part in the text of a value: of a container, also its elements."""
    inner = [
        v for atom in value.atoms() if isinstance(atom, Obj) and atom.kind in CONTAINERS for v in atom.attrs.values()
    ]
    return [value, *inner]


def element_name(literal: Any) -> str:
    """The attribute under which a container keeps the element with this index or key."""
    return f"[{literal!r}]"


def by_groups(values: list[Value], make: Callable[[list[Value]], Value]) -> Value:
    """What ``make`` gives for the values as each group of ranks has them, where cases tell ranks apart."""
    masks = sorted({case.mask for value in values for case, _ in value.alternatives})
    groups: dict[tuple[int, ...], int] = {}
    for rank in range(WORLD) if len(masks) > 1 else ():
        mark = tuple(mask >> rank & 1 for mask in masks)
        groups[mark] = groups.get(mark, 0) | 1 << rank
    if not 1 < len(groups) <= 4:
        return make(values)
    results = []
    for group in groups.values():
        theirs = [
            Value(tuple((Case(EVERY_RANK, case.facts), atom) for case, atom in value.alternatives if case.mask & group))
            for value in values
        ]
        if all(value.alternatives for value in theirs):
            results.append(under(make(theirs), (Case(group),)))
    return union(results) if results else make(values)


def split(value: Value) -> tuple[Path, Path]:
    """The paths on which the value is true, and on which it is false."""
    truthy: list[Case] = []
    falsy: list[Case] = []
    for case, atom in value.alternatives:
        yes, no = truth(atom)
        truthy += conjoin((case,), yes)
        falsy += conjoin((case,), no)
    return (simplify(truthy) if len(truthy) > 1 else tuple(truthy)), (
        simplify(falsy) if len(falsy) > 1 else tuple(falsy)
    )


def truth(atom: Atom) -> tuple[Path, Path]:
    """The paths on which one thing is true, and on which it is false."""
    match atom:
        case Const(value, soft):
            if soft:
                key = Key(f"default {value!r}")
                return fact(key, True), fact(key, False)
            return (ALWAYS, NEVER) if value else (NEVER, ALWAYS)
        case Ranked(values):
            mask = sum(1 << rank for rank, value in enumerate(values) if value)
            yes = (Case(mask),) if mask else NEVER
            no = (Case(EVERY_RANK & ~mask),) if mask != EVERY_RANK else NEVER
            return (ALWAYS if mask == EVERY_RANK else yes), (ALWAYS if not mask else no)
        case Sym():
            key = Key(atom.text, atom.ranked, atom.counter)
            return fact(key, True), fact(key, False)
        case Lib(name) if atom.per_rank:
            key = Key(name, True)
            return fact(key, True), fact(key, False)
        case Obj(kind="list" | "dict" | "tuple" | "set"):
            if atom.attrs or atom.notes.get("loose"):
                if atom.notes.get("loose"):
                    key = Key(f"{atom.key} is not empty")
                    return fact(key, True), fact(key, False)
                return ALWAYS, NEVER
            return NEVER, ALWAYS
        case _:
            return ALWAYS, NEVER


def boolean(yes: Path, no: Path) -> Value:
    """A truth that holds on ``yes`` and fails on ``no``."""
    if not no:
        return TRUE
    if not yes:
        return FALSE
    return Value(tuple((case, Const(True)) for case in yes) + tuple((case, Const(False)) for case in no))


def per_rank_values(atom: Atom) -> tuple[Any, ...] | None:
    """What each rank holds, for a literal or a ranked number."""
    if isinstance(atom, Ranked):
        return atom.values
    if isinstance(atom, Const) and not atom.soft:
        return (atom.value,) * WORLD
    return None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _marks(text: str) -> str:
    """The loop marks in a text that is cut, so that they can still be found."""
    found = {part[: part.find(";")] for part in text.split("loop@")[1:] if ";" in part}
    return "".join(f" loop@{mark};" for mark in sorted(found)[:6])
