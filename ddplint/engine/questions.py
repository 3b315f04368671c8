"""What the rules ask about a program's trace."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ddplint.engine import facts
from ddplint.engine.conditions import ALWAYS, LOST, NEVER, PERHAPS_GUARDED, Case, Path, conjoin, disjoin, meets
from ddplint.engine.names import hints_sharding
from ddplint.engine.values import UNSEEN, Class, Const, Lib, Obj, Ranked, Site, Sym, Value
from ddplint.project import Project


@dataclass(eq=False)
class Training:
    """A backward of a loss in which a wrapper had a part, with the loader whose batches reached it."""

    backward: facts.Backward
    wrapper: Obj
    loader: Obj
    path: Path


class Program:
    """One program's trace and what follows from it."""

    def __init__(self, trace: facts.Trace, project: Project) -> None:
        self.trace = trace
        self.project = project

    @cached_property
    def wraps(self) -> list[facts.Wrap]:
        """The wraps of the program."""
        return list(self.trace.of(facts.Wrap))

    @cached_property
    def wrapped(self) -> Path:
        """The cases in which the program wraps a model: there a group has been joined, else torch refuses."""
        path = NEVER
        joins = list(self.trace.of(facts.Join))
        for wrap in self.wraps:
            joined = NEVER
            for join in joins:
                if join.index < wrap.index:
                    joined = disjoin(joined, join.path)
            if any(case.unsure for case in joined):
                joined = ALWAYS
            path = disjoin(path, conjoin(wrap.path, joined) or wrap.path)
        return path

    @cached_property
    def escaped(self) -> set[int]:
        """The ids of the objects that code out of sight was given."""
        return {id(event.thing) for event in self.trace.of(facts.Escape)}

    @cached_property
    def training(self) -> list[Training]:
        """Each backward that trains a wrapper, with each loader whose batches reached it."""
        return list(self._trainings(self.wrappers_in))

    @cached_property
    def training_past_wrappers(self) -> list[Training]:
        """Each backward of a loss that a wrapped network gave past its wrapper, with each loader."""
        return list(self._trainings(self._wrappers_passed_by))

    def _trainings(self, trained: Callable[[facts.Backward], list[tuple[Obj, Path]]]) -> Iterator[Training]:
        for backward in self.trace.of(facts.Backward):
            loaders = [part for part in backward.made_of if isinstance(part, Obj) and part.kind == "loader"]
            if not loaders:
                continue
            loaders.sort(key=lambda thing: thing.uid)
            for wrapper, path in trained(backward):
                for loader in loaders:
                    both = conjoin(conjoin(path, loader.path), wrapper.path)
                    if both:
                        yield Training(backward, wrapper, loader, both)

    def _wrappers_passed_by(self, backward: facts.Backward) -> list[tuple[Obj, Path]]:
        """The wrappers whose network had a part in what is back-propagated though none of them was called."""
        if self.wrappers_in(backward):
            return []
        called = [part for part in backward.made_of if isinstance(part, facts.Forward)]
        found = []
        for wrap in self.wraps:
            path = NEVER
            for forward in called:
                if forward.index > wrap.index and any(atom is forward.module for atom in wrap.inner.atoms()):
                    path = disjoin(path, conjoin(conjoin(backward.path, forward.path), wrap.path))
            if path:
                found.append((wrap.wrapper, path))
        return found

    def wrappers_in(self, backward: facts.Backward) -> list[tuple[Obj, Path]]:
        """The wrappers whose forward had a part in what is back-propagated, with the path."""
        found: dict[int, tuple[Obj, Path]] = {}
        for part in backward.made_of:
            if isinstance(part, facts.Forward) and part.module.kind == "ddp":
                path = conjoin(backward.path, part.path)
                thing = part.module
            elif isinstance(part, Obj) and part.kind == "ddp":
                thing, path = part, backward.path
            else:
                continue
            if path:
                old = found.get(id(thing))
                found[id(thing)] = (thing, disjoin(old[1], path) if old else path)
        return sorted(found.values(), key=lambda pair: pair[0].uid)

    @cached_property
    def surely_joins(self) -> list[facts.Join]:
        """Where the process group is set up whatever the launch: no test stands over it."""
        return [join for join in self.trace.of(facts.Join) if not under_a_test((*join.chain, join.site))]

    @cached_property
    def spawns(self) -> list[facts.Spawn]:
        """Where the program starts processes."""
        return list(self.trace.of(facts.Spawn))

    @cached_property
    def joins_ranks(self) -> bool:
        """Whether the program is seen to be one rank of several: it joins or starts them, or trains a wrapper."""
        if self.spawns or any(True for _ in self.trace.of(facts.Join)):
            return True
        return any(self.wrappers_in(backward) for backward in self.trace.of(facts.Backward))

    def in_parent(self, event: facts.Event) -> bool:
        """Whether one process alone gets here: the one that starts the ranks, or would have started them."""
        if event.worker:
            return False
        return self._is_test or self._wraps_in_worker or self.before_spawn(event)

    def before_spawn(self, event: facts.Event) -> bool:
        """Whether it happens in the process that starts the ranks."""
        return not event.worker and any(meets(event.path, spawn.path) for spawn in self.spawns)

    @cached_property
    def _is_test(self) -> bool:
        """Whether a test runner starts the program, in one process."""
        name = os.path.basename(self.trace.entry)
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"

    @cached_property
    def _wraps_in_worker(self) -> bool:
        return any(wrap.worker for wrap in self.wraps)

    def _alone(self, case: Case) -> bool:
        """Whether the world size is a literal one: by each join that may be meant, or by one that surely happens."""
        joins = [event for event in self.trace.of(facts.Join) if meets(event.path, (case,))]
        ones = [event for event in joins if _is_one(event.size, case)]
        surely = (c.facts <= case.facts and not case.mask & ~c.mask for event in ones for c in event.path)
        return bool(ones) and (len(ones) == len(joins) or any(surely))

    def on_many_ranks(self, event: facts.Event, path: Path | None = None, together: bool = False) -> bool:
        """Whether two processes of one node surely get here, in a run that wraps.

        ``together``: the event is one for which all ranks wait, so that none can be here alone.
        """
        if self.in_parent(event):
            return False
        path = conjoin(event.path if path is None else path, self.wrapped)
        return any(
            case.crowded() and (together or not self._unsure(case, event)) and not self._alone(case) for case in path
        )

    def unguarded(self, event: facts.Event) -> bool:
        """Whether two processes of one node surely do it, with no guard that may have been forgotten."""
        open_to_all = tuple(case for case in event.path if (PERHAPS_GUARDED, True) not in case.facts)
        return self.on_many_ranks(event, open_to_all)

    def _unsure(self, case: Case, event: facts.Event) -> bool:
        """Whether ranks may part here: the constructor of a wrapper waits for all, so up to it they answered alike."""
        asked = {pair for pair in case.facts if pair[0].per_rank}
        for wrap in self.wraps if asked else ():
            if wrap.index < event.index:
                for common in wrap.path:
                    if common.facts <= case.facts:
                        asked -= {pair for pair in common.facts if pair[0] != LOST}
        return bool(asked)


def _is_one(size: Value | None, case: Case) -> bool:
    atom = None if size is None else size.within((case,)).only
    return isinstance(atom, Const) and atom.value == 1 and not atom.soft


# ------------------------------------------------------------------- sharding


def samplers(loader: Obj, path: Path) -> Iterator[tuple[Obj | Sym | None, Path]]:
    """What decides the order of a loader, innermost: samplers, None for torch's own, ``Sym`` for what is not seen."""
    for name in ("batch_sampler", "sampler"):
        value = loader.attrs.get(name)
        if value is None:
            continue
        given = [(case, atom) for case, atom in value.within(path).alternatives]
        found = False
        for case, atom in given:
            inner = conjoin(path, (case,))
            if isinstance(atom, Const) and not atom.value:
                continue
            found = True
            yield from _unwrapped(atom, inner, 4)
        if found and not any(isinstance(atom, Const) and not atom.value for _, atom in given):
            return
    yield None, path


def _unwrapped(atom: object, path: Path, depth: int) -> Iterator[tuple[Obj | Sym | None, Path]]:
    if isinstance(atom, Obj):
        if atom.kind == "sampler" or depth == 0:
            yield atom, path
            return
        inner = []
        args = atom.notes.get("args")
        values = list(atom.attrs.values()) + (args.all() if args is not None else [])
        seen = set()
        for value in values:
            for case, part in value.within(path).alternatives:
                if isinstance(part, Obj) and id(part) not in seen and (part.kind == "sampler" or _is_sampler(part)):
                    seen.add(id(part))
                    inner.append((part, conjoin(path, (case,))))
        if inner:
            yield atom, path
            for part, case_path in inner:
                yield from _unwrapped(part, case_path, depth - 1)
        else:
            yield atom, path
    elif isinstance(atom, Sym):
        yield atom, path
    else:
        yield None, path


def _is_sampler(thing: Obj) -> bool:
    if isinstance(thing.cls, Lib):
        return thing.cls.name.endswith("Sampler")
    if isinstance(thing.cls, Class) and thing.kind == "instance":
        return thing.cls.is_sampler or (
            thing.cls.lookup("__iter__") is not None
            and thing.cls.lookup("__len__") is not None
            and "ampler" in thing.cls.name
        )
    return False


def divides(value: Value | None, path: Path) -> bool | None:
    """Whether each rank gets a part of its own of this dataset (or these indices); None where that is not seen."""
    if value is None:
        return False
    answers = [_divides(atom) for _, atom in value.within(path).alternatives]
    if any(answer is True for answer in answers):
        return True
    return None if any(answer is None for answer in answers) or not answers else False


def _divides(atom: object, depth: int = 4) -> bool | None:
    if isinstance(atom, Ranked):
        return True
    if isinstance(atom, Sym):
        if atom.ranked:
            return True
        if UNSEEN in atom.made_of or atom.opaque:
            return None
        inner = [_divides(part, depth - 1) for part in atom.made_of if isinstance(part, Obj)] if depth else []
        if any(answer is True for answer in inner):
            return True
        return None if any(answer is None for answer in inner) else False
    if isinstance(atom, Obj):
        if atom.notes.get("per_rank"):
            return True
        if isinstance(atom.cls, Class):
            if speaks_of_ranks(atom.cls):
                return None if atom.notes.get("given_rank") is None else _uses_what_it_is_given(atom)
            if atom.cls.opaque_base or _foreign(atom.cls):
                return None
            if depth:
                args = atom.notes.get("args")
                for given in args.all() if args is not None else ():
                    for part in given.atoms():
                        if isinstance(part, Obj | Sym | Ranked) and _divides(part, depth - 1) is True:
                            if isinstance(part, Obj) or (isinstance(part, Sym) and not _is_device(part)):
                                return True
            return None if _leaves_it_to_another(atom, depth) else False
        if atom.kind in ("list", "tuple") and depth:
            parts = [part for value in atom.attrs.values() for part in value.atoms()]
            if any(isinstance(part, Sym) and part.ranked and not _is_device(part) for part in parts):
                return True
            inner = [_divides(part, depth - 1) for part in parts if isinstance(part, Obj)]
            return True if True in inner else None if None in inner else False
        return None if atom.kind in ("namespace", "dp") else False
    return False


def _leaves_it_to_another(thing: Obj, depth: int) -> bool:
    """Whether an instance makes, or is given, one of a class whose methods speak of ranks."""
    assert isinstance(thing.cls, Class)
    if _makes_one_that_acts(thing.cls):
        return True
    args = thing.notes.get("args")
    parts = [part for value in (args.all() if args is not None and depth else ()) for part in value.atoms()]
    return any(
        _acts_by_rank(part.cls.node) or _leaves_it_to_another(part, depth - 1)
        for part in parts
        if isinstance(part, Obj) and isinstance(part.cls, Class)
    )


def _makes_one_that_acts(cls: Class) -> bool:
    """Whether the text of a class makes an instance of a class of the project whose methods speak of ranks."""
    known: bool | None = getattr(cls.node, "known_maker", None)
    if known is None:
        calls = (node.func for node in ast.walk(cls.node) if isinstance(node, ast.Call))
        made: list[ast.ClassDef] = []
        for name in dict.fromkeys(called.id for called in calls if isinstance(called, ast.Name)):
            if (value := cls.home.names.get(name)) is not None:
                made += [atom.node for atom in value.atoms() if isinstance(atom, Class)]
            made += [node for node in cls.home.pending.get(name, ()) if isinstance(node, ast.ClassDef)]
        known = any(_acts_by_rank(node) for node in made)
        cls.node.known_maker = known  # type: ignore[attr-defined]
    return known


def _acts_by_rank(cls: ast.ClassDef) -> bool:
    """Whether a method of a class, and not just its constructor, speaks of ranks."""
    known: bool | None = getattr(cls, "known_to_act", None)
    if known is None:
        known = any(
            _mentions_rank(statement)
            for function in cls.body
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for statement in function.body
        )
        cls.known_to_act = known  # type: ignore[attr-defined]
    return known


def _is_device(value: Sym) -> bool:
    return "device" in value.text


def _foreign(cls: Class) -> bool:
    """Whether a base comes from a library that may shard by itself."""
    return any(
        isinstance(base, Lib) and base.name.split(".")[0] not in ("torch", "torchvision", "builtins", "typing", "abc")
        for base in cls.mro()
    )


def _uses_what_it_is_given(thing: Obj) -> bool | None:
    """For a class that speaks of ranks: False where it only takes a rank or shard and never looks at it."""
    assert isinstance(thing.cls, Class)
    used = False
    for cls in thing.cls.mro():
        if not isinstance(cls, Class):
            if cls.name not in ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "builtins.object"):
                return None
            continue
        for function in cls.node.body:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in function.body:
                    used = used or _mentions_rank(statement)
    return None if used else False


def _mentions_rank(statement: ast.stmt) -> bool:
    """Whether a statement looks at a rank or shard; storing one away is not looking."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name | ast.Constant):
        if all(isinstance(target, ast.Attribute) for target in statement.targets):
            return False
    return any(
        hints_sharding(name)
        for node in ast.walk(statement)
        if (name := getattr(node, "id", None) or getattr(node, "attr", None)) and isinstance(name, str)
    ) or any(isinstance(node, ast.keyword | ast.Constant) and _names_rank(node) for node in ast.walk(statement))


def speaks_of_ranks(cls: Class) -> bool:
    """Whether a rank, world size or shard occurs in the body of a class or of its bases in the project."""
    for step in cls.mro():
        if not isinstance(step, Class):
            continue
        known = getattr(step.node, "known_to_speak", None)
        if known is None:
            known = any(_names_rank(node) for node in ast.walk(step.node))
            step.node.known_to_speak = known  # type: ignore[attr-defined]
        if known:
            return True
    return False


def _names_rank(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__init__"):
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return any(hints_sharding(parameter.arg) for parameter in parameters)
        case ast.Call(func=ast.Attribute(attr="shard")):
            return True
        case ast.Name(id="shard") | ast.Attribute(attr="shard"):
            return False
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return hints_sharding(name)
        case ast.Constant(value=str(text)):
            return text in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID")
        case _:
            return False


def _own_function(cls: Class, name: str) -> ast.AST | None:
    value = cls.lookup(name)
    atom = value.only if value is not None else None
    return getattr(atom, "node", None)


def keeps_seeding(cls: Class) -> bool:
    """Whether a subclass still orders its indices as DistributedSampler does, by seed and epoch."""
    own = _own_function(cls, "__iter__")
    if own is None:
        return True
    names = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(own)}
    return "epoch" in names or "super" in names


def draws_by_own_epoch(cls: Class) -> bool:
    """A project's sampler that seeds its order with its attribute ``epoch`` and never counts that up itself."""
    own = _own_function(cls, "__iter__")
    if own is None or not cls.is_sampler:
        return False
    reads = writes = False
    for node in ast.walk(own):
        if isinstance(node, ast.Attribute) and node.attr == "epoch":
            reads = reads or isinstance(node.ctx, ast.Load)
            writes = writes or isinstance(node.ctx, ast.Store)
    return reads and not writes and _own_function(cls, "set_epoch") is not None


# ------------------------------------------------------------------------ files

_TAIL = re.compile(r"'([^']*)'\)*$")


def may_be_one_file(left: Value, right: Value) -> bool:
    """Whether two paths may name the same file, by the literal each ends with."""
    if left.key == right.key:
        return True
    a, b = literal_tail(left), literal_tail(right)
    return a is None or b is None or a == b


def may_end_with(file: Value, tail: str | None) -> bool:
    """Whether a path may end with the literal ``tail`` (None: one that is not known)."""
    known = literal_tail(file)
    return tail is None or known is None or tail == known


def literal_tail(value: Value) -> str | None:
    """The last part of a path, where that is written out."""
    atom = value.only
    if isinstance(atom, Const) and isinstance(atom.value, str):
        return atom.value.rsplit("/", 1)[-1]
    if isinstance(atom, Sym) and (match := _TAIL.search(atom.text)):
        return match.group(1).rsplit("/", 1)[-1] if "text(" not in atom.text else None
    return None


# ------------------------------------------------------------------ attribution


def settled_chain(chain: Iterable[Site]) -> tuple[Site, ...]:
    """The calls that lead to a place and the place itself, a recursion's inner calls left out."""
    kept: list[Site] = []
    seen: dict[str, int] = {}
    for site in chain:
        here = function_of(site)
        if here in seen:
            del kept[seen[here] :]
            for name in [name for name, at in seen.items() if at >= len(kept)]:
                del seen[name]
        seen[here] = len(kept)
        kept.append(site)
    return tuple(kept)


def function_of(site: Site) -> str:
    """The innermost function around a site, by file and first line."""
    best = ""
    size = None
    for first, last in _functions(site.module.tree):
        if first <= site.line <= last and (size is None or last - first < size):
            best, size = f"{first}", last - first
    return f"{site.module.path}:{best}"


def _functions(tree: ast.Module) -> list[tuple[int, int]]:
    known = getattr(tree, "known_functions", None)
    if known is None:
        known = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        tree.known_functions = known  # type: ignore[attr-defined]
    return known


def under_a_test(route: Iterable[Site]) -> bool:
    """Whether an ``if`` stands around a place, or around a call that leads to it, whatever it tests."""
    return any(_in_an_arm(site) for site in route)


def may_be_plain(wrapper: Obj) -> bool:
    """Whether the program may get past the wrap without making it."""
    wrap = wrapper.notes.get("wrap")
    return isinstance(wrap, facts.Wrap) and under_a_test((*wrap.chain, wrap.site))


def _in_an_arm(site: Site) -> bool:
    line = site.line
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.If | ast.IfExp) and node.lineno <= line <= (node.end_lineno or line):
            if any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)):
                continue
            arms = [*node.body, *node.orelse] if isinstance(node, ast.If) else [node.body, node.orelse]
            if any(part is site.node for arm in arms for part in ast.walk(arm)):
                return True
    return False


def places_to_report(wrong: Iterable[facts.Event], right: Iterable[facts.Event]) -> list[tuple[Site, facts.Event]]:
    """Where each wrong use of a construct is reported."""
    good = [settled_chain((*event.chain, event.site)) for event in right]
    found: dict[Site, facts.Event] = {}
    for event in wrong:
        found.setdefault(place_to_report((*event.chain, event.site), good), event)
    return list(found.items())


def place_to_report(chain: Iterable[Site], right: Iterable[tuple[Site, ...]]) -> Site:
    """Where a wrong use is reported, by the calls that lead to its construct, which is the last of ``chain``.

    At the construct where every use is wrong; otherwise at the call at which the wrong route leaves the right ones.
    """
    chain = settled_chain(chain)
    shared = max((_common(chain, other) for other in right), default=0)
    return chain[-1 - shared] if 0 < shared < len(chain) else chain[-1]


def _common(left: tuple[Site, ...], right: tuple[Site, ...]) -> int:
    count = 0
    for a, b in zip(reversed(left), reversed(right), strict=False):
        if a != b:
            break
        count += 1
    return count


def first_of_arms(routes: Mapping[facts.Event, tuple[Site, ...]]) -> list[facts.Event]:
    """Of events in exclusive arms of one test, the first in the source.

    The last site of an event's route, the calls that lead to it, is where it stands in the arm.
    """
    kept: list[facts.Event] = []
    for event, (*calls, site) in sorted(routes.items(), key=lambda r: (r[1][-1].module.path, r[1][-1].line)):
        exclusive = [
            other
            for other in kept
            if routes[other][-1] != site
            and routes[other][-1].module.path == site.module.path
            and routes[other][:-1] == tuple(calls)
            and other.loops == event.loops
            and (not meets(other.path, event.path) or _in_two_arms(other.site, event.site))
        ]
        if not exclusive:
            kept.append(event)
    return kept


def _in_two_arms(left: Site, right: Site) -> bool:
    """Whether two places of one file stand in the body and in the ``else`` of one ``if``."""
    return any(
        (body[0] <= left.line <= body[1] and other[0] <= right.line <= other[1])
        or (body[0] <= right.line <= body[1] and other[0] <= left.line <= other[1])
        for body, other in _arms(left.module.tree)
    )


def _arms(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The first and last line of the body and of the ``else`` of each ``if`` that has both."""
    known = getattr(tree, "known_arms", None)
    if known is None:
        known = [
            (_lines(node.body), _lines(node.orelse))
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and node.orelse
        ]
        tree.known_arms = known  # type: ignore[attr-defined]
    return known


def _lines(statements: list[ast.stmt]) -> tuple[int, int]:
    return statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno
