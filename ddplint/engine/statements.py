"""What each kind of statement does to the machine."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import cast

from ddplint.engine import facts
from ddplint.engine.branching import narrowed, pattern, test
from ddplint.engine.conditions import ALWAYS, EVERY_RANK, NEVER, Case, Key, Path, conjoin, disjoin, fact, simplify
from ddplint.engine.entering import enter
from ddplint.engine.expressions import assign, function
from ddplint.engine.importing import imported
from ddplint.engine.instances import instantiate_class_body
from ddplint.engine.iteration import iterate
from ddplint.engine.machine import Machine
from ddplint.engine.names import says_whether_distributed
from ddplint.engine.operators import binary
from ddplint.engine.ordering import mark_order
from ddplint.engine.values import NONE, Atom, Class, Const, Lib, Obj, Sym, Value, boolean, one, union

_MOST_FACTS = 20
_LONGEST_COUNT = 60
_MOST_LAYERS = 3
"""How many facts a path collects before further tests are no longer remembered."""


def execute(m: Machine, node: ast.stmt) -> None:
    """Run one statement."""
    match node:
        case ast.Expr():
            m.evaluate(node.value)
        case ast.Assign(
            targets=[ast.Name(id=name) as counter],
            value=ast.BinOp(left=ast.Name(id=other), op=op, right=ast.Constant(value=int() | float()) as more),
        ) if name == other:
            _augment(m, ast.copy_location(ast.AugAssign(counter, op, more), node))
        case ast.Assign():
            value = m.evaluate(node.value)
            if isinstance(node.value, ast.Constant) and node.value.value is False and _is_switch(m, node):
                key = Key(f"{node.lineno} of {m.frame.home.key} is switched on")
                value = boolean(fact(key, True), fact(key, False))
            for target in node.targets:
                assign(m, target, value)
        case ast.AnnAssign():
            if node.value is not None:
                assign(m, node.target, m.evaluate(node.value))
        case ast.AugAssign():
            _augment(m, node)
        case ast.Return():
            value = m.evaluate(node.value) if node.value is not None else NONE
            if len(m.loops) > m.frame.loops:
                m.record(facts.Leave, node, statement="return", loop=m.loops[-1])
            elif m.loops and any(key in m.trace.grounds for case in m.path for key, _ in case.facts):
                m.record(facts.Leave, node, statement="return", loop=None)
            m.ret(value)
        case ast.If():
            yes, no = test(m, node.test)
            _decides(m, node, yes + no)
            if any(len(case.facts) > _MOST_FACTS for case in m.path) and _same_for_all(yes + no):
                yes, no = _ranks_of(yes), _ranks_of(no)
            then = narrowed(m, node.test, True, lambda: m.block(node.body))
            otherwise = narrowed(m, node.test, False, lambda: m.block(node.orelse))
            m.fork([(yes, _behind(m, yes, then)), (no, _behind(m, no, otherwise))])
        case ast.For() | ast.AsyncFor():
            _for(m, node)
        case ast.While():
            _while(m, node)
        case ast.With() | ast.AsyncWith():
            _with(m, node.items, node.body)
        case ast.Try():
            _try(m, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            m.write(m.frame.names, node.name, function(m, node))
        case ast.ClassDef():
            _class(m, node)
        case ast.Import() | ast.ImportFrom():
            imported(m, node)
        case ast.Global():
            m.frame.globals.update(node.names)
        case ast.Nonlocal():
            m.frame.nonlocals.update(node.names)
        case ast.Raise():
            if node.exc is not None:
                m.evaluate(node.exc)
            m.die()
        case ast.Break():
            m.leave(node, "break")
        case ast.Continue():
            m.leave(node, "continue")
        case ast.Assert():
            yes, _ = test(m, node.test)
            m.path = conjoin(m.path, _asserted(yes))
        case ast.Match():
            _match(m, node)
        case ast.Delete():
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    m.evaluate(target.value)
        case _ if isinstance(node, getattr(ast, "TryStar", ())):
            _try(m, cast("ast.Try", node))  # its fields are the same
        case _:
            pass


def _behind(m: Machine, answers: Path, run: Callable[[], None]) -> Callable[[], None]:
    """``run`` with these answers to a test remembered, as far as it is known what they were asked of."""
    known = frozenset(pair for case in answers for pair in case.facts if pair[0] in m.trace.grounds)

    def arm() -> None:
        before, m.asked = m.asked, m.asked | known
        try:
            run()
        finally:
            m.asked = before

    return arm if known else run


def _decides(m: Machine, node: ast.If, path: Path) -> None:
    if not _same_for_all(path) and (site := m.site(node)) not in m.trace.parting:
        m.trace.parting.append(site)
    for case in path:
        for key, _ in case.facts:
            if key in m.trace.grounds and (site := m.site(node)) not in m.trace.decided.setdefault(key, []):
                m.trace.decided[key].append(site)


def _same_for_all(path: Path) -> bool:
    """Whether no rank is named (a flag that stands beside the rank has to be remembered with it)."""
    return all(case.mask == EVERY_RANK for case in path)


def _asserted(path: Path) -> Path:
    """What holds after an assertion: a rank that fails it ends the run for all, unless it singles a rank out.

    What is asserted about a number of things decides nothing further on.
    """
    if not any(case.unsure for case in path):
        counts = any(key.counts for case in path for key, _ in case.facts)
        return ALWAYS if counts and _same_for_all(path) else path
    return simplify(
        Case(case.mask, frozenset(f for f in case.facts if not f[0].per_rank or f[0].text.startswith("Eq(")))
        for case in path
    )


def _ranks_of(path: Path) -> Path:
    """The path with only what it says about ranks."""
    return simplify(Case(case.mask, frozenset(f for f in case.facts if f[0].per_rank)) for case in path)


def _is_switch(m: Machine, node: ast.Assign) -> bool:
    """Whether a script's own line says that it runs in one process, for people to change by hand."""
    target = node.targets[0]
    if m.frame.func is not None or m.frame.owner is not None or not isinstance(target, ast.Name):
        return False
    module = m.frame.home.module
    return module is not None and says_whether_distributed(target.id) and _times_bound(module.tree).get(target.id) == 1


def _times_bound(tree: ast.Module) -> Counter[str]:
    """How often each name is bound in a file."""
    known: Counter[str] | None = getattr(tree, "known_bound", None)
    if known is None:
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        known = Counter(node.id for node in names if isinstance(node.ctx, ast.Store | ast.Del))
        tree.known_bound = known  # type: ignore[attr-defined]
    return known


def _augment(m: Machine, node: ast.AugAssign) -> None:
    load = _as_load(node.target)
    old = m.evaluate(load)
    more = m.evaluate(node.value)
    grown = [atom for atom in old.atoms() if isinstance(atom, Obj) and atom.kind == "list"]
    if grown and isinstance(node.op, ast.Add):
        for thing in grown:
            mark_order(thing, [more])
            for extra in more.atoms():
                if isinstance(extra, Obj) and extra.kind in ("list", "tuple"):
                    for element in list(extra.attrs.values()):  # it may be the very list that grows
                        merged = union([thing.attrs["*"], element]) if "*" in thing.attrs else element
                        m.write(thing.attrs, "*", merged)
            thing.notes["loose"] = True
        return
    value = binary(m, node.op, old, more)
    if isinstance(node.op, ast.Add) and type(more.constant()) is int and all(_counts(atom) for atom in old.atoms()):
        assign(m, node.target, value)
        return
    if (
        m.loops
        and all(isinstance(atom, Sym | Const) for atom in value.atoms())
        and not isinstance(value.constant(), str)
    ):
        target = ast.unparse(node.target)
        taint = value.taint
        # one that goes on from what a file says counts as well
        goes_on = isinstance(node.value, ast.Constant) and all(isinstance(part, facts.Load) for part in taint)
        value = one(
            Sym(
                f"{target} counted {m.loops[-1].mark}",
                ranked=value.per_rank,
                counter=(goes_on or not taint) and isinstance(node.op, ast.Add | ast.Sub),
                opaque=False,
                made_of=taint,
            )
        )
    elif isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.target, ast.Attribute) and not value.taint:
        # an attribute that a method adds to counts the calls of the method
        value = one(Sym(f"{ast.unparse(node.target)} counted", ranked=value.per_rank, counter=True, opaque=False))
    assign(m, node.target, value)


def _counts(atom: Atom) -> bool:
    """Whether it is what a name of the same function counts in a loop, exactly told."""
    return isinstance(atom, Sym) and atom.counter and " so far loop@" in atom.text and len(atom.text) < _LONGEST_COUNT


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name():
            return ast.copy_location(ast.Name(node.id, ast.Load()), node)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(node.value, node.attr, ast.Load()), node)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(node.value, node.slice, ast.Load()), node)
        case _:
            return node


def _for(m: Machine, node: ast.For | ast.AsyncFor) -> None:
    value = m.evaluate(node.iter)

    def body(element: Value) -> None:
        assign(m, node.target, element)
        m.block(node.body)

    iterate(m, node, node.iter, value, body)
    if node.orelse and m.path:
        m.block(node.orelse)


def _while(m: Machine, node: ast.While) -> None:
    layers, end = _layers(node)
    if end:
        for _ in range(_MOST_LAYERS):
            _take_off(m, layers)
        m.block([statement for statement in end if not isinstance(statement, ast.Break)])
        return
    if _asks_what_it_is(node):
        for _ in range(_MOST_LAYERS):
            yes, no = test(m, node.test)
            if conjoin(m.path, no) or not conjoin(m.path, yes):
                break  # the last layer is off, or it is not known whether there is one
            m.block(node.body)
            if not m.path:
                return
    yes, no = test(m, node.test)
    if not conjoin(m.path, yes):
        m.block(node.orelse)
        return
    endless = isinstance(node.test, ast.Constant)  # what any other asks, the rounds may change
    calls = any(isinstance(part, ast.Call) for part in ast.walk(node.test))

    def body(turn: facts.Loop) -> None:
        yes, no = test(m, node.test)
        path = conjoin(m.path, yes)
        if calls:
            _may_end(m, node, turn, no)
        if not path:
            path = m.path
        if any(key.counts for case in yes for key, _ in case.facts):
            path = m.path
        m.path = path
        m.block(node.body)
        if not calls and m.path:  # what the round has made of the names that are asked about
            _may_end(m, node, turn, test(m, node.test)[1])

    m.loop(node, body, endless=endless)
    if node.orelse and m.path:
        m.block(node.orelse)


def _may_end(m: Machine, node: ast.While, turn: facts.Loop, no: Path) -> None:
    """Record that a loop ends by its own test, where it is known what that asks."""
    known = any(key in m.trace.grounds for case in no for key, _ in case.facts)
    before, m.path = m.path, conjoin(m.path, no)
    if known and m.path:
        _behind(m, no, lambda: m.record(facts.Leave, node, statement="while", loop=turn))()
    m.path = before


def _layers(node: ast.While) -> tuple[list[ast.If], list[ast.stmt]]:
    """The tests of an endless loop that takes layers off a thing, and how it ends where none of them holds."""
    tests: list[ast.If] = []
    left = node.body if isinstance(node.test, ast.Constant) and node.test.value else []
    while len(left) == 1 and isinstance(left[0], ast.If) and _takes_off(left[0].test, left[0].body):
        tests.append(left[0])
        left = left[0].orelse
    return tests, left if tests and len(left) == 1 and isinstance(left[0], ast.Break | ast.Return) else []


def _take_off(m: Machine, layers: list[ast.If]) -> None:
    """One round of the loop that these are the tests of."""
    if layers:
        yes, no = test(m, layers[0].test)
        m.fork([(yes, lambda: m.block(layers[0].body)), (no, lambda: _take_off(m, layers[1:]))])


def _asks_what_it_is(node: ast.While) -> bool:
    """Whether a loop takes layers off a thing, as long as it is of some kind."""
    return _takes_off(node.test, node.body)


def _takes_off(asked: ast.expr, body: list[ast.stmt]) -> bool:
    """Whether a thing becomes another where it is of some kind."""
    kind = isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and asked.func.id
    return kind in ("isinstance", "hasattr") and all(isinstance(statement, ast.Assign) for statement in body)


def _with(m: Machine, items: list[ast.withitem], body: list[ast.stmt]) -> None:
    if not items:
        m.block(body)
        return
    item = items[0]
    value = m.evaluate(item.context_expr)

    def rest(entered: Value) -> None:
        if item.optional_vars is not None:
            assign(m, item.optional_vars, entered)
        _with(m, items[1:], body)

    enter(m, item.context_expr, value, rest)


def _try(m: Machine, node: ast.Try) -> None:
    before = m.path
    whole = any(_caught(handler) == {"AttributeError"} for handler in node.handlers) and _has_all_attributes(
        m, node.body
    )
    is_set = _reads_what_is_set(m, node.body)
    m.block(node.body)
    arms: list[tuple[Path, Callable[[], None]]] = []
    finished = m.path
    key = Key(f"exception at {m.frame.home.name}:{node.lineno}")

    def went_well() -> None:
        m.path = conjoin(finished, fact(key, False)) or finished
        if node.orelse and m.path:
            m.block(node.orelse)

    if finished:
        arms.append((fact(key, False), went_well))
    else:
        arms.append((fact(key, False), lambda: setattr(m, "path", NEVER)))
    for number, handler in enumerate(node.handlers):
        which = Key(f"handler {number} at {m.frame.home.name}:{node.lineno}")

        def handle(handler: ast.ExceptHandler = handler) -> None:
            if handler.name:
                m.write(m.frame.names, handler.name, one(Sym(f"exception {handler.name}")))
            m.block(handler.body)

        assumed = fact(key, True)
        if is_set or (whole and _caught(handler) == {"AttributeError"}):
            continue
        if len(node.handlers) > 1:
            assumed = conjoin(assumed, fact(which, True))
        if _comes_to_one_rank(m, handler):
            m.note_grounds(which if len(node.handlers) > 1 else key, frozenset({facts.Caught(m.site(node))}))
        arms.append((assumed, handle))
    m.path = before
    if node.handlers:
        m.fork(arms)
    else:
        m.path = finished
        if node.orelse and m.path:
            m.block(node.orelse)
    if node.finalbody:
        after = m.path
        m.path = before  # whoever leaves the body on the way runs it, too
        m.block(node.finalbody)
        m.path = conjoin(m.path, after)


def _reads_what_is_set(m: Machine, body: list[ast.stmt]) -> bool:
    """Whether the statements do nothing but read what a launcher sets in the environment of every rank."""
    from ddplint.engine import library

    asked = 0
    for statement in body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            return False
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript):
                name = node.slice
                read = [atom for atom in m.evaluate(node.value).atoms() if isinstance(atom, Obj)]
                if not isinstance(name, ast.Constant) or not read or any(atom.kind != "environ" for atom in read):
                    return False
                if library.in_environment(Const(name.value))[1]:
                    return False
                asked += 1
            elif isinstance(node, ast.Call):
                if not isinstance(node.func, ast.Name) or node.func.id not in ("int", "str", "bool"):
                    return False
    return asked > 0


def _has_all_attributes(m: Machine, body: list[ast.stmt]) -> bool:
    """Whether every attribute that the statements ask of a name is surely there."""
    from ddplint.engine import library

    asked = 0
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
                atoms = m.evaluate(node.value).within(m.path).atoms()
                if not all(library.has(atom, node.attr) is True for atom in atoms):
                    return False
                asked += 1
    return asked > 0


_OF_ONE_RANK = frozenset(
    {"RuntimeError", "OutOfMemoryError", "ValueError", "FloatingPointError", "Exception", "BaseException"}
)


def _comes_to_one_rank(m: Machine, handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for errors that a rank has alone: its memory or its batch is to blame."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(node is None or _blames_the_rank(m, node) for node in types)


def _blames_the_rank(m: Machine, node: ast.expr) -> bool:
    """Whether a class of errors is one of these, or the project's own kind of one (of a bad value, not of all)."""
    if (getattr(node, "attr", None) or getattr(node, "id", None)) in _OF_ONE_RANK:
        return True
    cls = m.evaluate(node).only
    bases = (
        [base.name.rpartition(".")[2] for base in cls.mro() if isinstance(base, Lib)] if isinstance(cls, Class) else []
    )
    return bool(bases) and set(bases) <= _OF_ONE_RANK - {"Exception", "BaseException"}


def _caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {name.id for name in types if isinstance(name, ast.Name)}


def _class(m: Machine, node: ast.ClassDef) -> None:
    m.write(m.frame.names, node.name, instantiate_class_body(m, node))


def _match(m: Machine, node: ast.Match) -> None:
    subject = m.evaluate(node.subject)
    remaining: Path = ALWAYS
    arms: list[tuple[Path, Callable[[], None]]] = []
    for case in node.cases:
        yes, no, bindings = pattern(m, case.pattern, subject)
        if case.guard is not None:
            guard_yes, guard_no = test(m, case.guard)
            no = disjoin(no, conjoin(yes, guard_no))
            yes = conjoin(yes, guard_yes)
        assumed = conjoin(remaining, yes)
        if assumed:

            def run(case: ast.match_case = case, bindings: dict[str, Value] = bindings) -> None:
                for name, value in bindings.items():
                    m.write(m.frame.names, name, value)
                m.block(case.body)

            arms.append((assumed, run))
        remaining = conjoin(remaining, no)
        if not remaining:
            break
    if remaining:
        arms.append((remaining, lambda: None))
    m.fork(arms)
