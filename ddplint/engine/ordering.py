"""Which random draws decide what stands in a collection and in which order, apart from those its elements hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ddplint.engine import facts
from ddplint.engine.conditions import Path
from ddplint.engine.values import CONTAINERS, Class, Const, Func, Lib, Obj, Sym, Value, one

_DEEPEST = 4
_MOST_ELEMENTS = 64
_OF_LIBRARIES = frozenset({"samples", "imgs", "data", "indices"})
"""Where the data sets of libraries keep what a sampler's indices go into."""


def ordered_by(value: Value, depth: int = _DEEPEST) -> frozenset[Any]:
    """The draws, and the ranks' shares of draws, that decide what is in a collection and in which order."""
    found: frozenset[Any] = frozenset()
    for atom in value.atoms():
        if isinstance(atom, Sym):
            found |= drawn(atom.made_of)
        elif isinstance(atom, Obj):
            found |= drawn(atom.notes.get("marks", ())) | _picked(atom)
            if depth and atom.kind in CONTAINERS and not atom.notes.get("loose"):
                for element in islice(atom.attrs.values(), _MOST_ELEMENTS):
                    found |= ordered_by(element, depth - 1)
            if atom.kind == "iterator":
                found |= ordered_by(atom.notes["source"], depth - 1) if depth else frozenset()
            for source in atom.notes.get("sources", ()) if depth else ():
                found |= ordered_by(source, depth - 1)
    return found


def drawn(made_of: Iterable[Any]) -> frozenset[Any]:
    """The draws, and the ranks' shares of draws, among what a value is made of."""
    return frozenset(part for part in made_of if isinstance(part, facts.Draw | facts.ShareOf))


def drawn_lots(made_of: frozenset[Any]) -> frozenset[Any]:
    """What a test is made of that compares random numbers to a bound: they draw lots."""
    return frozenset(part.draw if isinstance(part, facts.Noise) else part for part in made_of)


def with_lots(trace: facts.Trace, value: Value) -> Value:
    """The answers of a comparison by which lots are drawn, as one value that is made of the draws; else the same."""
    keys = {key for case, _ in value.alternatives for key, _ in case.facts if drawn(trace.grounds.get(key, ()))}
    answers = (isinstance(atom, Const) and isinstance(atom.value, bool) for atom in value.atoms())
    if not keys or not all(answers):
        return value
    text = " ".join(sorted(key.text for key in keys))
    lots = frozenset[Any]().union(*(drawn(trace.grounds[key]) for key in keys))
    return one(Sym(f"lots {text}"[:200], any(key.per_rank for key in keys), opaque=False, made_of=lots))


def pick(trace: facts.Trace, made: Obj, path: Path) -> None:
    """Something is put into a collection on ``path``: remember by which lots, drawn since the collection is there."""
    before = {pair for case in made.path for pair in case.facts}
    here = frozenset.intersection(*(case.facts for case in path)) - before if path else frozenset()
    for key, answer in here:
        if draws := drawn(trace.grounds.get(key, ())):
            answers = made.notes.setdefault("picks", {}).setdefault(key, (draws, set()))[1]
            answers.add(answer)


def _picked(made: Obj) -> frozenset[Any]:
    """The draws by which some things come into a collection that others do not."""
    picks = made.notes.get("picks", {}).values()
    return frozenset[Any]().union(*(draws for draws, answers in picks if len(answers) == 1))


def shares(made_of: Iterable[Any]) -> frozenset[facts.ShareOf]:
    """The parts that each rank takes for itself of what was drawn."""
    return frozenset(facts.ShareOf(part) for part in made_of if isinstance(part, facts.Draw))


def drawn_outside(part: Any, loops: Iterable[facts.Loop]) -> bool:
    """Whether a draw was made before ``loops`` began, and not for each of their rounds."""
    draw = part.draw if isinstance(part, facts.ShareOf) else part
    return not any(loop in draw.loops for loop in loops)


def order_kept(made_of: frozenset[Any], values: Iterable[Value]) -> frozenset[Any]:
    """What a value is made of, that is calculated from ``values``, without the draws that their elements hold."""
    found = drawn(made_of)
    if not found:
        return made_of
    kept = frozenset(draw for value in values for draw in ordered_by(value))
    return made_of - (found - kept)


def mark_order(made: Obj, sources: Iterable[Value]) -> None:
    """A collection is filled with what is in ``sources``: the draws that decide on that also decide on it."""
    add_marks(made, (draw for source in sources for draw in ordered_by(source)))


def add_marks(made: Obj, marks: Iterable[Any]) -> None:
    """From now on a collection is made of ``marks``, too."""
    found = frozenset(marks)
    if found:
        made.notes["marks"] = frozenset(made.notes.get("marks", ())) | found


_DRAWS = (
    b"shuffle(", b"permutation(", b"randperm(", b"random.sample(", b".choice(", b"random_split(", b"train_test_split(",
    b".sample(", b"random.random(", b"random.rand(", b"random.uniform(", b"torch.rand(", b".randint(",
)  # fmt: skip
"""What the text of a class holds that draws something at random."""


def speaks_of_draws(cls: Class) -> bool:
    """Whether the text of a class, or of a base in the project, holds something that draws at random."""
    return any(_draws(step) for step in cls.mro() if isinstance(step, Class))


def _draws(cls: Class) -> bool:
    known: bool | None = getattr(cls.node, "known_draws", None)
    if known is None:
        lines = cls.home.module.source.split(b"\n") if cls.home.module is not None else []
        text = b"\n".join(lines[cls.node.lineno - 1 : cls.node.end_lineno])
        known = any(word in text for word in _DRAWS)
        cls.node.known_draws = known  # type: ignore[attr-defined]
    return known


def deciding(cls: Class) -> frozenset[str]:
    """The attributes of a data set or sampler that say which samples there are, and in which order."""
    known: frozenset[str] | None = getattr(cls.node, "known_deciding", None)
    if known is None:
        found = _deciding(cls)
        known = frozenset(found | set(_filling(cls, found)))
        cls.node.known_deciding = known  # type: ignore[attr-defined]
    return known


def _deciding(cls: Class) -> set[str]:
    length, order, getter = (_own(cls, name) for name in ("__len__", "__iter__", "__getitem__"))
    if length is order is getter is None:
        foreign = any(isinstance(base, Lib) and base.name != "builtins.object" for base in cls.mro())
        return set(_OF_LIBRARIES) if foreign else set()
    found = set(_measured(length)) | {name for node in _nodes(order) if (name := _attribute(node))}
    looked_up = dict(_looked_up(getter))
    if not found:
        return set(looked_up.values())
    indices = [inner for node in _nodes(getter) if isinstance(node, ast.Subscript) for inner in ast.walk(node.slice)]
    names = {node.id for node in indices if isinstance(node, ast.Name)}
    found |= {
        attribute for node in indices if isinstance(node, ast.Subscript) and (attribute := _attribute(node.value))
    }
    return found | {attribute for name, attribute in looked_up.items() if name in names}


def _filling(cls: Class, filled: set[str]) -> Iterator[str]:
    """The attributes over which, or over whose length, a method of a class loops to fill one of others."""
    methods = [node for node in cls.node.body if isinstance(node, ast.FunctionDef)] if filled else []
    for function in methods:
        lengths = {
            target.id: list(_measured(node.value))
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and any(_fills(node, filled) for part in loop.body for node in ast.walk(part)):
                for node in ast.walk(loop.iter):
                    if name := _attribute(node):
                        yield name
                    elif isinstance(node, ast.Name):
                        yield from lengths.get(node.id, ())


def _fills(node: ast.AST, filled: set[str]) -> bool:
    """Whether a call puts something at the end of one of these attributes."""
    match node:
        case ast.Call(func=ast.Attribute(value=thing, attr="append" | "extend")):
            return _attribute(thing) in filled
    return False


def _own(cls: Class, name: str) -> ast.AST | None:
    value = cls.lookup(name)
    atom = value.only if value is not None else None
    return atom.node if isinstance(atom, Func) else None


def _nodes(function: ast.AST | None) -> Iterator[ast.AST]:
    return ast.walk(function) if function is not None else iter(())


def _attribute(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


def _measured(function: ast.AST | None) -> Iterator[str]:
    """The attributes whose length a function takes."""
    for node in _nodes(function):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[given]):
                yield from (name for inner in ast.walk(given) if (name := _attribute(inner)))
            case ast.Attribute(value=inner, attr="shape" | "size" | "num_rows") if name := _attribute(inner):
                yield name


def _looked_up(function: ast.AST | None) -> Iterator[tuple[str, str]]:
    """The attributes that a function looks something up in, each with the name that it gives to what it finds."""
    for node in _nodes(function):
        if isinstance(node, ast.Subscript) and (name := _attribute(node.value)):
            yield f" {name}", name
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                for inner in ast.walk(value):
                    if isinstance(inner, ast.Subscript) and (name := _attribute(inner.value)):
                        yield target, name
