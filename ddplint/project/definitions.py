"""Where the project binds what a dotted name stands for, followed through imports, aliases and base classes as text."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ddplint.project.project import Module, Project

_LONGEST_WAY = 16
"""So many imports, aliases and bases are followed for one name."""
_PLAIN_BASES = frozenset({"abc", "builtins", "torch", "torchvision", "typing"})
"""Libraries whose classes have no attributes that a project would name."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """What binds a name in ``module``, or in the body of the class ``owner`` there.

    ``node``: the function or class; None for anything else, such as a variable or an instance's attribute.
    """

    module: Module
    owner: ast.ClassDef | None
    name: str
    node: Function | ast.ClassDef | None


Found = Definition | str
"""A definition in the project, or the full name of something in a library."""


def definitions(project: Project, entry: str, name: str) -> list[Found]:
    """What the dotted ``name`` stands for to a module beside the file ``entry``; more than one where arms bind it.

    A name whose first part is no module of the project is a library's. Empty if the first part is one and the rest is
    not there.
    """
    beside = os.path.join(os.path.dirname(entry), "__main__.py")  # a script's own name means the script, too
    parts = name.split(".")
    modules = [(project.resolve(beside, ".".join(parts[:end])), parts[end:]) for end in range(len(parts) - 1, 0, -1)]
    search = _Search(project)
    for path, rest in modules:
        if path is not None and (found := list(search.in_module(path, rest, _LONGEST_WAY))):
            return found
    return [] if any(path is not None for path, _ in modules) else [name]


class _Search:
    """Follows names; ``way`` is how many steps are left."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def in_module(self, path: str, parts: list[str], way: int) -> Iterator[Found]:
        """What ``parts`` stand for from the module or folder at ``path`` on."""
        module = self._project.module(path) if path.endswith(".py") else None
        if not way or not parts:
            return
        found = list(self._bound(module, parts, way)) if module is not None else []
        if not found and (below := self._project.submodule(path, parts[0])) not in (None, path):
            assert below is not None
            found = list(self.in_module(below, parts[1:], way - 1))
        yield from found

    def _bound(self, module: Module, parts: list[str], way: int) -> Iterator[Found]:
        name, rest = parts[0], parts[1:]
        statements = list(_statements(module.tree.body))
        is_bound = False
        for statement in statements:
            for found in self._by(module, None, statement, name, rest, way):
                is_bound = True
                yield found
        if not is_bound and not rest and _is_made_global(module, name):
            yield Definition(module, None, name, None)
        elif not is_bound:
            for statement in statements:
                if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
                    yield from self._imported(module, statement, parts, way)

    def _by(
        self, module: Module, owner: ast.ClassDef | None, statement: ast.stmt, name: str, rest: list[str], way: int
    ) -> Iterator[Found]:
        """What ``name`` and the parts after it stand for by one statement of a module or of the class ``owner``."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if statement.name == name and not rest:
                yield Definition(module, owner, name, statement)
            case ast.ClassDef() if statement.name == name:
                if rest:
                    yield from self._in_class(module, statement, rest, way)
                else:
                    yield Definition(module, owner, name, statement)
            case ast.Import(names=aliases):
                for alias in aliases:
                    if alias.asname == name or (alias.asname is None and alias.name.partition(".")[0] == name):
                        full = alias.name if alias.asname else name
                        path = self._project.resolve(module.path, full)
                        yield from self._beyond(path, full, rest, way)
            case ast.ImportFrom(names=aliases):
                for alias in aliases:
                    if (alias.asname or alias.name) == name:
                        yield from self._imported(module, statement, [alias.name, *rest], way)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if name in _targets(statement):
                value = statement.value if not isinstance(statement, ast.AugAssign) else None
                aliased = list(self._expression(module, value, rest, way)) if value is not None else []
                yield from aliased or ([] if rest else [Definition(module, owner, name, None)])
            case _:
                pass

    def _imported(self, module: Module, statement: ast.ImportFrom, parts: list[str], way: int) -> Iterator[Found]:
        path = self._project.resolve(module.path, statement.module or "", statement.level)
        if path != module.path and (path is not None or not statement.level):
            yield from self._beyond(path, statement.module or "", parts, way)

    def _beyond(self, path: str | None, name: str, parts: list[str], way: int) -> Iterator[Found]:
        """What ``parts`` stand for from an imported module on, which is called ``name``."""
        if path is not None:
            yield from self.in_module(path, parts, way - 1)
        else:
            yield ".".join([name, *parts])

    def _expression(self, module: Module, node: ast.expr, rest: list[str], way: int) -> Iterator[Found]:
        """What a dotted expression of a module stands for, and the parts after it."""
        parts = list(rest)
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            yield from self.in_module(module.path, [node.id, *parts], way - 1)

    def _in_class(self, module: Module, cls: ast.ClassDef, parts: list[str], way: int) -> Iterator[Found]:
        """A member of a class: in its body, set on an instance, or of a base."""
        name, rest = parts[0], parts[1:]
        found = [
            each for statement in _statements(cls.body) for each in self._by(module, cls, statement, name, rest, way)
        ]
        if found or rest:
            yield from found
        elif _is_set_in(cls, name):
            yield Definition(module, cls, name, None)
        else:
            yield from self._inherited(module, cls, name, way)

    def _inherited(self, module: Module, cls: ast.ClassDef, name: str, way: int) -> Iterator[Found]:
        is_open = False
        for base in cls.bases:
            expression = base.value if isinstance(base, ast.Subscript) else base
            bases = list(self._expression(module, expression, [], way)) if way else []
            for found in bases:
                if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
                    if members := list(self._in_class(found.module, found.node, [name], way - 1)):
                        yield from members
                        return
                else:
                    is_open = is_open or not isinstance(found, str) or found.partition(".")[0] not in _PLAIN_BASES
            is_open = is_open or not (bases or (isinstance(expression, ast.Name) and expression.id == "object"))
        if is_open:
            yield Definition(module, cls, name, None)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the branches in it, functions and classes not entered."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.stmt):
                    yield from _statements([part])
                elif isinstance(part, ast.ExceptHandler | ast.match_case):
                    yield from _statements(part.body)


def _targets(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _is_made_global(module: Module, name: str) -> bool:
    """Whether a function of a module declares ``name`` as the module's."""
    return b"global " in module.source and any(
        isinstance(node, ast.Global) and name in node.names for node in ast.walk(module.tree)
    )


def _is_set_in(cls: ast.ClassDef, name: str) -> bool:
    """Whether the text of a class sets an attribute of this name."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(cls)
    )
