"""Runs one file as a program: its top level as ``__main__``, then what nobody calls."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ddplint.engine import library
from ddplint.engine.arguments import Arguments
from ddplint.engine.binding import bound_names
from ddplint.engine.calls import apply, call_function
from ddplint.engine.conditions import ALWAYS
from ddplint.engine.declared import Declared
from ddplint.engine.expressions import evaluate
from ddplint.engine.facts import Trace
from ddplint.engine.interest import Interest, names_in
from ddplint.engine.machine import Frame, Machine, OutOfBudgetError
from ddplint.engine.members import method
from ddplint.engine.statements import execute
from ddplint.engine.values import Class, Func, ModuleRef, Obj, one
from ddplint.project import Project

_DEEPEST_PYTHON = 12_000


def run(project: Project, entry: str, declared: Declared | None = None) -> Trace:
    """What the program that starts at the file ``entry`` does.

    A function of that file that nothing in the project calls is taken as called, with arguments nobody knows. Of a
    program that wraps nothing no event is kept: nothing follows from it. ``declared`` is what the settings say of it.
    """
    machine = Machine(project, entry, evaluate, execute, apply, declared)
    with _deep(), _without_collection():
        try:
            ref = machine.main(entry)
            if ref is not None:
                for _ in range(2):
                    _uncalled(machine, ref)
        except (OutOfBudgetError, RecursionError, MemoryError):
            machine.trace.complete = False
    machine.trace.statements = machine.work.statements
    if not machine.wraps:
        machine.trace.cut(0)
        machine.trace.asked.clear()
    return machine.trace


def _uncalled(machine: Machine, ref: ModuleRef) -> None:
    assert ref.module is not None
    tree = ref.module.tree
    others = [path for path in machine.project.dependents(ref.path) if path != ref.path]
    names = names_in(tree)
    started = _only_when_started(tree)
    interest = Interest(machine, ref)
    for name, value in list(ref.names.items()):
        for atom in value.atoms():
            if isinstance(atom, Func) and atom.home is ref and id(atom.node) not in machine.called:
                if isinstance(atom.node, ast.Lambda) or names[name] > names_in(atom.node)[name]:
                    continue
                if not interest.holds(atom.node) or _needs(atom.node, started):
                    continue
                if _is_used(machine.project, name, others):
                    continue
                with _at_top(machine, ref):
                    given = library.command_line(machine, atom, atom.node) if library.is_command(atom) else Arguments()
                    call_function(machine, atom, given, atom.node)
            elif isinstance(atom, Class) and atom.home is ref:
                if names[name] > names_in(atom.node)[name]:
                    continue
                inherited = (f for f in _inherited(atom) if id(f.node) not in machine.called)
                if not interest.shows(atom.node) and not any(interest.holds(func.node) for func in inherited):
                    continue
                if any(id(f.node) in machine.called for f in _methods(atom)):
                    continue
                if _is_used(machine.project, name, others):
                    continue
                with _at_top(machine, ref):
                    _use(machine, atom)
            elif isinstance(atom, Obj) and atom.kind == "dispatch" and not _is_used(machine.project, name, others):
                for func in atom.notes["arms"]:
                    if func.home is ref and id(func.node) not in machine.called and interest.holds(func.node):
                        with _at_top(machine, ref):
                            call_function(machine, func, Arguments(), func.node)


def _is_used(project: Project, name: str, among: Iterable[str]) -> bool:
    """Whether one of the files ``among`` does more with a name than import it."""
    for path in among:
        if project.mentions(name, (path,)) and (module := project.module(path)) is not None:
            if names_in(module.tree)[name] or any(name in text and " " not in text for text in _texts(module.tree)):
                return True
    return False


def _texts(tree: ast.AST) -> Iterator[str]:
    """The strings in a tree."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _use(machine: Machine, cls: Class) -> None:
    """Make an instance of a class nobody makes one of, and call what it does not call itself."""
    made = machine.apply(one(cls), Arguments(), cls.node).only
    if not isinstance(made, Obj):
        return
    inherited = _inherited(cls)
    inner = {
        node.attr
        for part in (cls.node, *(func.node for func in inherited))
        for node in ast.walk(part)
        if isinstance(node, ast.Attribute)
    }
    functions = [func for func in (*_methods(cls), *inherited) if not func.name.startswith("__")]
    for func in [f for f in functions if f.name not in inner] + [f for f in functions if f.name in inner]:
        if id(func.node) not in machine.called:
            bound = method(made, func.name)
            if bound is not None:
                machine.path = ALWAYS
                machine.apply(bound, Arguments(), func.node)


def _inherited(cls: Class) -> list[Func]:
    """The methods that a class has from its bases in the same file, and that it does not define anew."""
    found: dict[str, Func] = {}
    own = {func.name for func in _methods(cls)}
    for step in cls.mro():
        if isinstance(step, Class) and step is not cls and step.home is cls.home:
            for func in _methods(step):
                if func.name not in own:
                    found.setdefault(func.name, func)
    return list(found.values())


def _methods(cls: Class) -> list[Func]:
    return [atom for value in cls.attrs.values() for atom in value.atoms() if isinstance(atom, Func)]


def _only_when_started(tree: ast.Module) -> set[str]:
    """The names that only the file's ``if __name__ == "__main__":`` binds, and the definitions that need them."""
    inside: set[str] = set()
    outside: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.If) and any(_names_main(part) for part in ast.walk(statement.test)):
            for part in statement.body:
                inside.update(bound_names(part))
        else:
            outside.update(bound_names(statement))
    for node in ast.walk(tree) if inside else ():
        if isinstance(node, ast.Global):
            outside.update(node.names)
    found = inside - outside
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    definitions = [node for node in tree.body if isinstance(node, kinds)] if found else []
    while needing := {node.name for node in definitions if node.name not in found and _needs(node, found)}:
        found |= needing
    return found


def _names_main(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _needs(function: ast.AST, names: set[str]) -> bool:
    """Whether a function reads a global that only the started file has: whoever imports it cannot call it."""
    if not names:
        return False
    own = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    own.update(node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return any(isinstance(node, ast.Name) and node.id in names and node.id not in own for node in ast.walk(function))


@contextmanager
def _at_top(machine: Machine, ref: ModuleRef) -> Iterator[None]:
    machine.path = ALWAYS
    machine.frames.append(Frame(ref, (ref.names,), None, ()))
    try:
        yield
    finally:
        machine.frames.pop()


@contextmanager
def _deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST_PYTHON))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def _without_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
