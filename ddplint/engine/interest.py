"""Which definitions of a module can show anything, told by their text before they are run."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property

from ddplint.engine.machine import Machine
from ddplint.engine.values import Class, Func, ModuleRef
from ddplint.project import Module

_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_OF_INTEREST = (
    b"DistributedDataParallel", b"DDP", b"DataLoader", b"backward", b"save", b"state_dict", b"open(", b"dump",
    b"Sampler", b"write_", b"barrier", b"all_reduce", b"no_sync",
)  # fmt: skip


class Interest:
    """Asked about the definitions of one module."""

    def __init__(self, machine: Machine, ref: ModuleRef) -> None:
        self._machine = machine
        self._ref = ref
        self._known: dict[str, dict[int, str]] = {}

    def shows(self, node: ast.AST) -> bool:
        """Whether the text of a definition itself shows something of interest."""
        assert self._ref.module is not None
        return _shows_interest(self._ref.module.source.split(b"\n"), node)

    def holds(self, node: ast.AST) -> bool:
        """Whether a definition does something of interest, or speaks of one that does."""
        return id(node) in self._here

    @cached_property
    def _here(self) -> dict[int, str]:
        assert self._ref.module is not None
        imported: set[str] = set()
        for name, value in self._ref.names.items():
            for atom in value.atoms():
                if isinstance(atom, Func | Class) and atom.home is not self._ref:
                    if id(atom.node) in self._of(atom.home.module):
                        imported.add(name)
                elif isinstance(atom, ModuleRef) and atom is not self._ref and atom.path.endswith(".py"):
                    imported.update(self._of(self._machine.project.module(atom.path)).values())
        return _of_interest(self._ref.module, imported)

    def _of(self, module: Module | None) -> dict[int, str]:
        if module is None:
            return {}
        if module.path not in self._known:
            self._known[module.path] = _of_interest(module, set())
        return self._known[module.path]


def _of_interest(module: Module, names: set[str]) -> dict[int, str]:
    """The names of the definitions of interest, by the ids of their nodes; those that use ``names`` are as well."""
    lines = module.source.split(b"\n")
    found: dict[int, str] = {}
    others: list[tuple[ast.AST, str, Counter[str]]] = []
    for node in ast.walk(module.tree):
        if isinstance(node, _DEFINITIONS):
            if _shows_interest(lines, node):
                found[id(node)] = node.name
            else:
                others.append((node, node.name, names_in(node)))
    names = names.union(found.values())
    met = True
    while met:
        met = False
        for node, name, used in others:
            if id(node) not in found and not names.isdisjoint(used):
                found[id(node)] = name
                names.add(name)
                met = True
    return found


def _shows_interest(lines: list[bytes], node: ast.AST) -> bool:
    text = b"\n".join(lines[getattr(node, "lineno", 1) - 1 : getattr(node, "end_lineno", 1)])
    return any(word in text for word in _OF_INTEREST)


def names_in(tree: ast.AST) -> Counter[str]:
    """How often each name is mentioned; what a definition says about itself is no call from outside."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
    return found
