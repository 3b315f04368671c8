"""Runs a program in the mind: every statement once or twice, every branch that can be, and writes down what it does.

Nothing is executed. Values are sets of alternatives, tests are split into the cases in which they hold, calls are
followed into the project's functions with the arguments they are given. All of it is bounded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ddplint.engine import facts
from ddplint.engine.arguments import Arguments
from ddplint.engine.binding import bound_names, calculated, called, counted, given_names, globals_set, leftmost
from ddplint.engine.budget import Budget, Work, keys
from ddplint.engine.conditions import ALWAYS, EVERY_RANK, NEVER, Case, Fact, Key, Path, conjoin, disjoin, forget
from ddplint.engine.declared import ON_ONE_RANK, ONE_RANK, Declared
from ddplint.engine.values import (
    NONE,
    Atom,
    Class,
    Const,
    Func,
    Lib,
    ModuleRef,
    Obj,
    Site,
    Sym,
    Value,
    blend,
    one,
    under,
    union,
)
from ddplint.project import Project

_MOST_STATEMENTS = 16_000
_MOST_BEFORE_WRAP = 8_000
"""After so many statements a program that has wrapped nothing is given up."""
_DEEPEST = 40
_MOST_EVENTS = 8_000
T = TypeVar("T")
Evaluate = Callable[["Machine", ast.expr], Value]
Execute = Callable[["Machine", ast.stmt], None]
Apply = Callable[["Machine", Value, Arguments, "ast.AST | None"], Value]


class OutOfBudgetError(Exception):
    """The program is larger than is followed."""


@dataclass(eq=False)
class Frame:
    """A function that is being run (or a module's top level, or a class body)."""

    home: ModuleRef
    scopes: tuple[dict[str, Value], ...]
    func: Func | None
    chain: tuple[Site, ...]
    owner: Class | None = None
    me: Atom | None = None
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    returns: list[tuple[Path, Value]] = field(default_factory=list)
    died: bool = False
    on_yield: Callable[[Value], Value] | None = None
    yielded: list[Value] = field(default_factory=list)
    loops: int = 0
    entered: tuple[Path, ...] = ()
    """The path on which each call of the chain was made."""
    captured: bool = False
    """Whether a function made here may still look at its names when it has ended."""

    @property
    def names(self) -> dict[str, Value]:
        """The innermost scope, to which assignments go."""
        return self.scopes[-1]


@dataclass(eq=False)
class Around:
    """A context manager that is active: what it is, for which wrapper, on which path."""

    kind: str
    thing: Obj | None
    path: Path


class Machine:
    """One run of one program. ``declared``: what the settings say of it, None where there are none."""

    def __init__(
        self,
        project: Project,
        entry: str,
        evaluate: Evaluate,
        execute: Execute,
        apply: Apply,
        declared: Declared | None = None,
    ) -> None:
        self.project = project
        self.declared = declared
        self._evaluate = evaluate
        self._execute = execute
        self._apply = apply
        self.trace = facts.Trace(entry)
        self.path: Path = ALWAYS
        self.frames: list[Frame] = []
        self.loops: list[facts.Loop] = []
        self.breaks: list[tuple[Frame, list[Path], list[Path]]] = []
        self.around: list[Around] = []
        self.workers = 0
        self.asked: frozenset[Fact] = frozenset()
        """What the tests around may have answered, of those whose grounds are known."""
        self.sym_attrs: dict[str, Value] = {}
        self.given_options: set[str] = set()
        """The texts of the command line's options that have a default."""
        self.switches: set[str] = set()
        """The texts of those that are true or false."""
        self.noises: dict[tuple[Site, tuple[Site, ...], bool], facts.Draw] = {}
        """The draws of random numbers by where they are made, which are told where something hangs on them."""
        self.forwards: dict[int, facts.Forward] = {}
        """By the ids of wrapped networks, whose ``forward`` is being run: the call of the wrapper."""
        self._journals: list[dict[tuple[int, str], tuple[dict[str, Value], str, Value | None]]] = []
        self._modules: dict[str, ModuleRef] = {}
        self.wraps = False
        """Whether a wrap was seen."""
        self.called: set[int] = set()
        self.called_in_workers: set[int] = set()
        """The ids of the function nodes that were run."""
        self.work = Work()
        self._budget = Budget()
        self._ran: set[int] = set()
        self._settling = False

    # ------------------------------------------------------------------ state

    @property
    def frame(self) -> Frame:
        """The function that is being run."""
        return self.frames[-1]

    @property
    def grad(self) -> bool:
        """Whether gradients are recorded here."""
        for entry in reversed(self.around):
            if entry.kind in ("nograd", "grad") and conjoin(entry.path, self.path):
                return entry.kind == "grad"
        return True

    def fresh(self) -> int:
        """A number that nothing else in this run has."""
        self.work.made += 1
        return self.work.made

    def site(self, node: ast.AST) -> Site:
        """The place of a node of the module that is being run."""
        module = self.frame.home.module
        assert module is not None
        return Site(module, node)

    def write(self, where: dict[str, Value], name: str, value: Value) -> None:
        """Set a name, an attribute or an element, so that a branch can take it back."""
        if self._journals:
            journal = self._journals[-1]
            mark = (id(where), name)
            if mark not in journal:
                journal[mark] = (where, name, where.get(name))
        where[name] = value

    def forget(self, names: dict[str, Value]) -> None:
        """No branch has to take back what was written to names that nobody can see any more."""
        if self._journals:
            journal = self._journals[-1]
            for name in names:
                journal.pop((id(names), name), None)

    def event(self, kind: type[facts.Event], node: ast.AST | Site, **details: Any) -> Any:
        """An event with the place and the circumstances of this moment, which is not written down."""
        site = node if isinstance(node, Site) else self.site(node)
        path = self.path
        if kind is facts.Save and any(entry.kind == "one rank writes" for entry in self.around):
            path = conjoin(path, ONE_RANK)
        return kind(
            len(self.trace.events),
            site,
            self.frame.chain,
            self.frame.entered,
            path,
            tuple(self.loops),
            self.workers > 0,
            self.asked,
            **details,
        )

    def record(self, kind: type[facts.Event], node: ast.AST | Site, **details: Any) -> Any:
        """Write an event down."""
        event = self.event(kind, node, **details)
        if any(entry.kind == "join" for entry in self.around):
            self.trace.uneven.add(event.index)
        self.work.deeds += kind is not facts.Leave
        self.work.epochs += kind is facts.SetEpoch
        self.wraps = self.wraps or kind is facts.Wrap
        if len(self.trace.events) < _MOST_EVENTS:
            self.trace.events.append(event)
        else:
            self.trace.complete = False
        return event

    def new(self, kind: str, node: ast.AST | Site | None = None, cls: Class | Lib | None = None, **notes: Any) -> Obj:
        """An object made here; its notes tell the calls and loops it was made in."""
        site = node if isinstance(node, Site) or node is None else self.site(node)
        made = Obj(self.fresh(), kind, cls, {}, site, self.path, dict(notes))
        made.notes["chain"] = self.frame.chain if self.frames else ()
        made.notes["loops"] = tuple(self.loops)
        made.notes["worker"] = self.workers > 0
        if self.declared is not None and self.declared.shards(cls):
            made.notes["per_rank"] = True
        return made

    def note_grounds(self, key: Key, made_of: frozenset[Any]) -> None:
        """Remember what the values were made of that a test asks about."""
        if made_of:
            self.trace.grounds[key] = self.trace.grounds.get(key, frozenset()) | made_of

    def note_test(self, value: Value) -> None:
        """Remember it of a value that is tested for its truth."""
        for atom in value.atoms():
            if isinstance(atom, Sym) and atom.made_of:
                self.note_grounds(Key(atom.text, atom.ranked, atom.counter), atom.made_of)

    # ---------------------------------------------------------------- branches

    def fork(self, arms: Sequence[tuple[Path, Callable[[], None]]]) -> None:
        """Run each arm that can be, from the same state, and join what they leave behind."""
        before = self.path
        ran: list[tuple[Path, Path, Path, dict[tuple[int, str], tuple[dict[str, Value], str, Value | None]]]] = []
        for assumed, run in arms:
            path = conjoin(before, assumed)
            if not path:
                continue
            self._journals.append({})
            self.path = path
            try:
                run()
            finally:
                journal = self._journals.pop()
            left: dict[tuple[int, str], tuple[dict[str, Value], str, Value | None]] = {}
            for mark, (where, name, old) in journal.items():
                left[mark] = (where, name, where.get(name))
                _restore(where, name, old)
            ran.append((assumed, path, self.path, left))
        if not ran:
            self.path = NEVER
            return
        if len(ran) == 1:
            for where, name, value in ran[0][3].values():
                if value is not None:
                    self.write(where, name, value)
            self.path = ran[0][2]
            return
        marks: dict[tuple[int, str], tuple[dict[str, Value], str, Value | None]] = {}
        for *_, left in ran:
            marks.update(left)
        for mark, (where, name, _) in marks.items():
            old = where.get(name)
            found = []
            for assumed, _, _, left in ran:
                value = left[mark][2] if mark in left else old
                if value is not None:
                    found.append((assumed, value))
            if not found:
                continue
            first = found[0][1]
            if len(found) == len(ran) and all(value is first for _, value in found):
                self.write(where, name, first)
            else:
                self.write(where, name, union([under(value, assumed) for assumed, value in found]))
        if all(after is path or after == path for _, path, after, _ in ran) and len(ran) == len(arms):
            self.path = before
        else:
            path = NEVER
            for *_, after, _ in ran:
                path = disjoin(path, after)
            self.path = path

    def choose(self, value: Value, handle: Callable[[Atom], Value]) -> Value:
        """What ``handle`` gives for each thing the value can be, each under its own case."""
        alternatives = value.within(self.path).alternatives
        if len(alternatives) == 1:
            return handle(alternatives[0][1])
        distinct: list[tuple[list[Case], Atom]] = []
        for case, atom in alternatives:
            for cases, other in distinct:
                if other is atom or (type(other) is type(atom) and other == atom):
                    cases.append(case)
                    break
            else:
                distinct.append(([case], atom))
        if not distinct:
            return Value(())
        if len(distinct) == 1:
            return handle(distinct[0][1])
        results: list[Value] = []
        arms = []
        for cases, atom in distinct:
            path = tuple(cases)

            def run(atom: Atom = atom, path: Path = path) -> None:
                results.append(under(handle(atom), path))

            arms.append((path, run))
        self.fork(arms)
        return union(results)

    def suppose(self, where: dict[str, Value], name: str, value: Value, run: Callable[[], T]) -> T:
        """What ``run`` gives if a name had this value; all that it does is taken back."""
        before, events = self.path, len(self.trace.events)
        self._journals.append({})
        self.write(where, name, value)
        try:
            return run()
        finally:
            for written, mark, old in self._journals.pop().values():
                _restore(written, mark, old)
            self.path = before
            self.trace.cut(events)

    # ------------------------------------------------------------------- loops

    def loop(
        self,
        node: ast.AST,
        body: Callable[[facts.Loop], object],
        repeats: bool = True,
        over: frozenset[Obj] = frozenset(),
        endless: bool = False,
        rounds: str = "",
    ) -> None:
        """Run a loop's body, twice where the first round changes what the second sees."""
        if not self.path:
            return
        turn = facts.Loop(self.fresh(), self.site(node), repeats, over, self._depth(), rounds)
        before = self.path
        self.loops.append(turn)
        broke: list[Path] = []
        died = False
        settling, turns = self._settling, 1 if self._settling else 2
        for number in range(turns):
            # in a second round, what inner loops change has been seen already
            self._settling = settling or number > 0
            went_on: list[Path] = []
            self.breaks.append((self.frame, broke, went_on))
            self._journals.append({})
            self.path = before
            self._count(node, turn)
            try:
                body(turn)
            finally:
                journal = self._journals.pop()
                self.breaks.pop()
            died = not self.path and not went_on
            changed = False
            left = [(where, name, old, where.get(name)) for where, name, old in journal.values()]
            for where, name, old, seen in left:
                _restore(where, name, old)
                if seen is None:
                    continue
                value = _forget(seen, turn.mark)
                if old is None or old is value:
                    self.write(where, name, value)
                    continue
                joined = union([old, value])
                changed = changed or _differs(old, joined)
                self.write(where, name, joined)
            if not changed or not repeats:
                break
        self._settling = settling
        self.loops.pop()
        for where, name, *_ in left:
            self._grown(where, name, turn)
        if endless and not broke:
            self.path = NEVER
        elif died and broke and endless:
            path = NEVER
            for case in broke:
                path = disjoin(path, case)
            self.path = tuple(forget(case, turn.mark) for case in path)
        else:
            self.path = before

    def _grown(self, where: dict[str, Value], name: str, turn: facts.Loop) -> None:
        """A sum of what a loop went over is no longer the number that it began with."""
        value = where.get(name)
        if value is None or len(value.alternatives) < 2:
            return
        sums = [alt for alt in value.alternatives if isinstance(alt[1], Sym) and alt[1].made_of]
        grown = any(turn.mark in atom.text for _, atom in sums if isinstance(atom, Sym))
        rest = [atom.value for _, atom in value.alternatives if isinstance(atom, Const)]
        if grown and len(sums) + len(rest) == len(value.alternatives) and all(type(n) in (int, float) for n in rest):
            self.write(where, name, Value(tuple(sums)))

    def _depth(self) -> int:
        """How many calls lead to the function whose rounds a loop here makes."""
        at = len(self.frames) - 1
        while at > 0 and self.frames[at].on_yield is not None:
            at -= 1
        return len(self.frames[at].chain)

    def round(self, turn: facts.Loop, body: Callable[[], object]) -> None:
        """One of several rounds that are run one by one: what it asks of its counter says nothing of the next."""
        self._journals.append({})
        try:
            body()
        finally:
            journal = self._journals.pop()
        for where, name, old in journal.values():
            value = where.get(name)
            _restore(where, name, old)
            if value is not None:
                self.write(where, name, _forget(value, turn.mark))

    def _count(self, node: ast.AST, turn: facts.Loop) -> None:
        """Give the names that the body of a loop counts up the value they have in any round."""
        for name in counted(node):
            old = self.frame.names.get(name)
            if old is not None and all(_is_count(atom, name) for atom in old.atoms()):
                self.write(self.frame.names, name, one(Sym(f"{name} so far {turn.mark}", counter=True, opaque=False)))

    def leave(self, node: ast.AST, statement: str) -> None:
        """``break`` or ``continue``."""
        mine = next((entry for entry in reversed(self.breaks) if entry[0] is self.frame), None)
        self.record(facts.Leave, node, statement=statement, loop=self.loops[-1] if self.loops else None)
        if mine is not None:
            (mine[1] if statement == "break" else mine[2]).append(self.path)
        self.path = NEVER

    # --------------------------------------------------------------- functions

    def _pass_over(self, site: Site | None) -> None:
        """A call is not followed any more: ranks may wait for one another in it, and it says nothing else."""
        last = self.trace.events[-1] if self.trace.events else None
        again = isinstance(last, facts.Wait) and last.site == site and last.path == self.path
        deeds = self.work.deeds
        if site is not None and self.frames and not again:
            self.record(facts.Wait, site)
        self.work.deeds = deeds

    def run(
        self,
        func: Func,
        bound: dict[str, Value],
        site: Site | None,
        me: Atom | None = None,
        on_yield: Callable[[Value], Value] | None = None,
    ) -> tuple[Value, Frame] | None:
        """Run a function's body with its parameters bound; None where it is not followed (recursion, depth)."""
        if len(self.frames) > _DEEPEST:
            self.trace.complete = False
            return None
        again = sum(frame.func is not None and frame.func.node is func.node for frame in self.frames)
        record = self._budget.of(func.node)
        if record.too_deep(again):
            return None
        if again == 2:
            bound = {name: _widened(value) for name, value in bound.items()}
        if record.is_dull:
            self._change(func, bound)
            result = record.results.get(keys(bound))
            return None if result is None else (result, Frame(func.home, (bound,), func, ()))
        if record.is_spent:
            self._change(func, bound)
            self.trace.complete = self.trace.complete and not record.sets_epoch
            self._pass_over(site)
            return None
        self.called.add(id(func.node))
        if self.workers:
            self.called_in_workers.add(id(func.node))
        before = self.work.copy()
        chain, entered = (self.frame.chain, self.frame.entered) if self.frames else ((), ())
        if site is not None and self.frames:
            chain, entered = (*chain, site), (*entered, self.path)
        frame = Frame(func.home, (*func.scopes, bound), func, chain, func.owner, me, on_yield=on_yield, entered=entered)
        frame.loops = len(self.loops)
        base = self.path
        self.frames.append(frame)
        try:
            if isinstance(func.node, ast.Lambda):
                frame.returns.append((self.path, self.evaluate(func.node.body)))
            else:
                self.block(func.node.body)
                if self.path:
                    frame.returns.append((self.path, NONE))
        finally:
            self.frames.pop()
            if not frame.captured:
                self.forget(bound)
        results = [
            value if path is base or path == base else under(value, relative(path, base))
            for path, value in frame.returns
        ]
        if frame.died:
            path = NEVER
            for returned, _ in frame.returns:
                path = disjoin(path, returned)
            self.path = path
        else:
            self.path = base if frame.returns else NEVER
        given = union(results) if results else NONE
        record.add(before, self.work, bound, given)
        return given, frame

    def _change(self, func: Func, bound: dict[str, Value]) -> None:
        """A method that is no longer followed: the literals its object holds may be others when it has run."""
        names = calculated(func.node)
        owner = next(iter(bound.values())).only if names and bound else None
        if not isinstance(owner, Obj):
            return
        for name in names:
            old = owner.attrs.get(name)
            if old is not None and all(isinstance(atom, Const) for atom in old.atoms()):
                changed = blend(f"{name} changed by {func.key}", bound.values(), opaque=True)
                self.write(owner.attrs, name, union([old, one(changed)]))

    @contextmanager
    def inside(self, frame: Frame) -> Iterator[None]:
        """Go back into a frame below, as a generator does at its ``yield``."""
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()

    def ret(self, value: Value) -> None:
        """Leave the function with a value; the path ends here."""
        self.frame.returns.append((self.path, value))
        self.path = NEVER

    def die(self) -> None:
        """The path ends here: an exception or the end of the process."""
        for frame in self.frames:
            frame.died = True
        self.path = NEVER

    # ----------------------------------------------------------------- modules

    def main(self, path: str) -> ModuleRef | None:
        """Run the top level of the module at ``path`` from its first statement to its last."""
        ref = self.module(path)
        ref.ready = True
        ref.module = self.project.module(path)
        if ref.module is None:
            return None
        ref.names.update(given_names("__main__"))
        with self._top_level(ref):
            self.block(ref.module.tree.body)
        return ref

    def module(self, path: str) -> ModuleRef:
        """The module at ``path``; its top level is run piece by piece, as its names are asked for."""
        if path not in self._modules:
            self._modules[path] = ModuleRef(path)
        return self._modules[path]

    def member(self, ref: ModuleRef, name: str, depth: int = 6) -> Value | None:
        """What a module calls ``name``, by its own statements or by a star import."""
        self._prepare(ref)
        if self.declared is not None and self.declared.is_predicate(ref, name):
            return ON_ONE_RANK
        if name in ref.pending:
            self._run_pending(ref, name)
        if name in ref.names:
            value = ref.names[name].within(self.path)
            if value.alternatives:
                return value
        word = name.encode("utf-8", "replace")
        for star in ref.project_stars if depth and not name.startswith("__") else ():
            if star.project_stars or word in (self.project.source(star.path) or b""):
                found = self.member(star, name, depth - 1)
                if found is not None:
                    return found
        return None

    def _prepare(self, ref: ModuleRef) -> None:
        if ref.ready:
            return
        ref.ready = True
        ref.module = self.project.module(ref.path) if ref.path.endswith(".py") else None
        if ref.module is None:
            return
        ref.names.update(given_names("module"))
        set_by = globals_set(ref.module) if b"global " in ref.module.source else {}
        for statement in ref.module.tree.body:
            if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
                with self._top_level(ref):
                    self.block([statement])
                continue
            for name in bound_names(statement, ref.pending):
                ref.pending.setdefault(name, []).append(statement)
            for name in sorted(set_by.get(called(statement), ())):
                ref.pending.setdefault(name, []).append(statement)
            for decorator in getattr(statement, "decorator_list", ()):
                # ``@table.register`` puts what it decorates into ``table``
                table = ref.pending.get(leftmost(decorator), ())
                if table and not isinstance(table[0], ast.Import | ast.ImportFrom):
                    table.append(statement)

    def _run_pending(self, ref: ModuleRef, name: str) -> None:
        statements = ref.pending.pop(name)
        goes_on = ALWAYS
        with self._top_level(ref):
            for statement in statements:
                if id(statement) not in self._ran:
                    self._ran.add(id(statement))
                    self.path = ALWAYS
                    self.block([statement])
                    goes_on = conjoin(goes_on, self.path)
        # where the module ends the process, whoever asks for its name gets no further
        self.path = conjoin(self.path, goes_on) or self.path

    @contextmanager
    def _top_level(self, ref: ModuleRef) -> Iterator[None]:
        """Where a module's own statements run: under nobody's tests and loops."""
        self.frames.append(Frame(ref, (ref.names,), None, ()))
        kept = (self.path, self.loops, self.around, self._journals, self.breaks, self._settling)
        self.path, self.loops, self.around, self._journals, self.breaks, self._settling = ALWAYS, [], [], [], [], False
        try:
            yield
        finally:
            self.frames.pop()
            self.path, self.loops, self.around, self._journals, self.breaks, self._settling = kept

    # -------------------------------------------------------------- statements

    def evaluate(self, node: ast.expr) -> Value:
        """What an expression can be on the present path."""
        return self._evaluate(self, node)

    def apply(self, callee: Value, args: Arguments, node: ast.AST | None) -> Value:
        """What calling ``callee`` gives, with each thing it can be called under its own case."""
        return self._apply(self, callee, args, node)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Run statements until the path ends."""
        for statement in statements:
            if not self.path:
                return
            self.work.statements += 1
            if self.work.statements > (_MOST_STATEMENTS if self.wraps else _MOST_BEFORE_WRAP):
                self.trace.complete = False
                raise OutOfBudgetError
            self._execute(self, statement)


def _restore(where: dict[str, Value], name: str, old: Value | None) -> None:
    if old is None:
        where.pop(name, None)
    else:
        where[name] = old


def _widened(value: Value) -> Value:
    """What deeper rounds of a recursion are given: containers lose what is known of them."""
    if any(isinstance(atom, Obj) and atom.kind in ("dict", "list", "tuple", "set") for atom in value.atoms()):
        return one(blend("part of", [value], opaque=True))
    return value


def _is_count(atom: Atom, name: str) -> bool:
    """Whether it is a number, or what a loop counted under this name."""
    if isinstance(atom, Const):
        return isinstance(atom.value, int | float)
    return isinstance(atom, Sym) and atom.counter and not atom.made_of and f"{name} so far loop@" in atom.text


def _forget(value: Value, mark: str) -> Value:
    if not any(case.facts for case, _ in value.alternatives):
        return value
    return union([Value(tuple((forget(case, mark), atom) for case, atom in value.alternatives))])


def _differs(old: Value, new: Value) -> bool:
    """Whether a further round may show something new: an object, a function or a literal that was not there."""
    before = {id(atom) if isinstance(atom, Obj | Func | Class) else atom.key for atom in old.atoms()}
    for atom in new.atoms():
        mark = id(atom) if isinstance(atom, Obj | Func | Class) else atom.key
        if mark not in before and not (isinstance(atom, Sym) and not atom.made_of) and not isinstance(atom, Const):
            return True
        if mark not in before and isinstance(atom, Sym) and atom.counter:
            return True
        if mark not in before and isinstance(atom, Const) and isinstance(atom.value, bool | None | str):
            return True
    return False


def relative(path: Path, base: Path) -> Path:
    """The path without what holds at ``base`` anyway."""
    common = None
    mask = 0
    for case in base:
        common = case.facts if common is None else common & case.facts
        mask |= case.mask
    common = common or frozenset()
    found = tuple(Case(EVERY_RANK if case.mask == mask else case.mask, case.facts - common) for case in path)
    return ALWAYS if any(case == ALWAYS[0] for case in found) else found
