"""What the rules ask about a program's trace."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ddplint.engine import facts
from ddplint.engine.bypassing import Bypassed, bypassed
from ddplint.engine.conditions import ALWAYS, LOST, NEVER, PERHAPS_GUARDED, Case, Path, conjoin, disjoin, meets
from ddplint.engine.placing import under_a_test
from ddplint.engine.spent import Spent, spent
from ddplint.engine.syncing import Unsynchronized, unsynchronized
from ddplint.engine.values import Atom, Const, Obj, Sym, Value
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
    def unsynchronized(self) -> list[Unsynchronized]:
        """Each step on gradients that were not reduced."""
        return unsynchronized(self.trace, self.wrappers_in)

    @cached_property
    def spent(self) -> list[Spent]:
        """Each step on gradients of a backward for which an earlier one left no reduction."""
        return list(spent(self.trace, self.wrappers_in))

    @cached_property
    def bypassed(self) -> list[Bypassed]:
        """Each loss of a wrapped network that is differentiated past its wrapper."""
        return list(bypassed(self.trace, self.wrappers_in))

    @cached_property
    def training_past_wrappers(self) -> list[Training]:
        """Each backward of a loss that a wrapped network gave past its wrapper, with each loader."""
        return list(self._trainings(self._wrappers_passed_by))

    def _trainings(self, trained: Callable[[facts.Backward], list[tuple[Obj, Path]]]) -> Iterator[Training]:
        for backward in self.trace.of(facts.Backward):
            parts = {part.loader if isinstance(part, facts.SizeOf) else part for part in backward.made_of}
            loaders = [
                part
                for part in parts
                if isinstance(part, Obj) and part.kind == "loader" and not _is_for_evaluation(part)
            ]
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


_OF_TRAINING = ("Eq('train', ", "Eq('training', ")
"""How a test begins that asks whether it is the phase of training."""


def _is_for_evaluation(loader: Obj) -> bool:
    """Whether the loader is made only where a test says that it is not the phase of training."""
    return all(any(key.text.startswith(_OF_TRAINING) and not yes for key, yes in case.facts) for case in loader.path)


def _is_one(size: Value | None, case: Case) -> bool:
    atom = None if size is None else size.within((case,)).only
    return isinstance(atom, Const) and atom.value == 1 and not atom.soft


def is_cpu(target: Value) -> bool:
    """Whether the device to which something is moved is surely the processor, or none."""
    return all((isinstance(a, Const) and a.value in ("cpu", None)) or a.key == "device('cpu')" for a in target.atoms())


def is_option(atom: Atom) -> bool:
    """Whether it is an option of the command line, as it is given."""
    return isinstance(atom, Sym) and _OPTION.fullmatch(atom.text) is not None


_OPTION = re.compile(r"option \S+ of #\d+")


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


def may_be_plain(wrapper: Obj) -> bool:
    """Whether the program may get past the wrap without making it."""
    wrap = wrapper.notes.get("wrap")
    return isinstance(wrap, facts.Wrap) and under_a_test((*wrap.chain, wrap.site))
