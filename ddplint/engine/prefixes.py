"""Which files the project's own code strips of the prefix ``module.`` when it reads them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ddplint.project import Project

_PREFIX = (b'"module', b"'module", b"consume_prefix_in_state_dict")
_PATTERN = re.compile(r"\^?\(?module(\\?\.|$)")
_CUTTERS = frozenset({"replace", "removeprefix", "startswith", "lstrip", "sub", "split", "partition"})
_READERS = frozenset({"load", "load_file", "load_state_dict_from_url", "load_url"})
_OTHER_READERS = frozenset({"json", "yaml", "np", "numpy", "OmegaConf", "toml", "joblib"})

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Stripped:
    """A file that is read and stripped: the last part of its path (None: any file) and the entries looked for in it.

    ``entries`` None: whatever it holds.
    """

    reader: str
    tail: str | None
    entries: frozenset[str] | None


def stripped(project: Project) -> list[Stripped]:
    """Every place in the project at which keys lose the prefix, by the file that is read there."""
    found: list[Stripped] = []
    for path in project.holding(_PREFIX):
        module = project.module(path)
        if module is not None:
            known: list[Stripped] | None = getattr(module.tree, "known_stripped", None)
            if known is None:
                known = list(dict.fromkeys(_in_module(project, path, module.tree)))
                module.tree.known_stripped = known  # type: ignore[attr-defined]
            found += known
    return found


def _in_module(project: Project, path: str, tree: ast.Module) -> Iterator[Stripped]:
    for scope in _scopes(tree):
        strips = any(_strips(node) for node in _body(scope)) or _cuts_a_constant(scope)
        if not strips and not _looks_up_a_weight(scope):
            continue
        own = list(_read_in(scope, path))
        if own:
            yield from own
            continue
        name = getattr(scope, "name", None)
        above = [] if name is None else [path, *(p for p in project.holding((name.encode(),)) if p != path)]
        reads = [
            read
            for other in above
            if (module := project.module(other)) is not None
            for caller in _scopes(module.tree)
            if any(_calls(node, name) for node in _body(caller))
            for read in _read_in(caller, other, scope)
        ]
        if reads or strips:
            yield from reads or [Stripped(path, None, None)]


def _scopes(tree: ast.Module) -> Iterator[Scope]:
    """The top level (without what is defined there), and every function or method with what is nested in it."""
    yield tree
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif not isinstance(node, ast.expr):
            stack.extend(ast.iter_child_nodes(node))


def _body(scope: Scope) -> Iterator[ast.AST]:
    if not isinstance(scope, ast.Module):
        yield from ast.walk(scope)
        return
    stack: list[ast.AST] = list(scope.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))


def _strips(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = _name(node.func)
    if name.startswith("consume_prefix_in_state_dict"):
        return True
    return name in _CUTTERS and any(
        isinstance(arg, ast.Constant) and isinstance(arg.value, str) and _PATTERN.match(arg.value) for arg in node.args
    )


def _cuts_a_constant(scope: Scope) -> bool:
    """Whether the prefix stands there other than as what is put in front of something, or one weight's whole name."""
    added: set[int] = set()
    for node in _body(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            added.add(id(node.left))
        elif isinstance(node, ast.JoinedStr):
            added.update(id(value) for value in node.values)
        elif isinstance(node, ast.Subscript):
            added.add(id(node.slice))
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("module.")
        and id(node) not in added
        for node in _body(scope)
    )


def _looks_up_a_weight(scope: Scope) -> bool:
    """Whether a weight is looked up by its name in a wrapper: files that are read there have the prefix."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and node.slice.value.startswith("module.")
        for node in _body(scope)
    )


def _read_in(scope: Scope, path: str, helper: Scope | None = None) -> Iterator[Stripped]:
    """What is read in a function, with the entries that are looked for in it or in the ``helper`` that strips."""
    names: dict[str, ast.expr | None] = {}
    reads: list[ast.Call] = []
    for node in _body(scope):
        match node:
            case ast.Call(func=func) if _name(func) in _READERS and _root(func) not in _OTHER_READERS:
                reads.append(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = value if name not in names else None
    entries = _entries([scope, helper] if helper is not None else [scope]) if reads else None
    for read in reads:
        where = read.args[0] if read.args else None
        if isinstance(where, ast.Name):
            where = names.get(where.id)
        yield Stripped(path, _tail(where), entries)


def _entries(scopes: Iterable[Scope]) -> frozenset[str] | None:
    """The entries that are looked for by a literal; None where one is looked for by another name."""
    found: set[str] = set()
    rounds: set[str] = set()
    others: set[str] = set()
    for scope in scopes:
        for node in _body(scope):
            match node:
                case (
                    ast.Subscript(slice=ast.Constant(value=str(text))) | ast.Compare(left=ast.Constant(value=str(text)))
                ):
                    found.add(text)
                case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(text)), *_]):
                    found.add(text)
                case ast.Subscript(slice=ast.Name(id=name), ctx=ast.Load()):
                    others.add(name)
                case ast.Subscript(slice=ast.Attribute(), ctx=ast.Load()):
                    return None
                case ast.For(target=target) | ast.comprehension(target=target):
                    rounds.update(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    return None if others - rounds else frozenset(found)


def _tail(where: ast.expr | None) -> str | None:
    """The last part of a path that is written out."""
    match where:
        case ast.Constant(value=str(text)):
            return text.rsplit("/", 1)[-1]
        case ast.Call(args=[*_, ast.Constant(value=str(text))]) if _name(where.func) in ("join", "Path", "joinpath"):
            return text.rsplit("/", 1)[-1]
        case ast.BinOp(op=ast.Div(), right=ast.Constant(value=str(text))):
            return text.rsplit("/", 1)[-1]
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str(text))) if "/" in text:
            return text.rsplit("/", 1)[-1]
        case ast.JoinedStr(values=[*_, ast.Constant(value=str(text))]) if "/" in text:
            return text.rsplit("/", 1)[-1]
        case _:
            return None


def _calls(node: ast.AST, name: str | None) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == name


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _root(func: ast.expr) -> str:
    while isinstance(func, ast.Attribute):
        func = func.value
    return func.id if isinstance(func, ast.Name) else ""


def belong_together(project: Project, left: str, right: str) -> bool:
    """Whether two files are parts of one program or of neighbours: folders that hold one another, a shared import."""
    a, b = os.path.dirname(left) + os.sep, os.path.dirname(right) + os.sep
    if a.startswith(b) or b.startswith(a):
        return True
    return bool(_reached(project, left) & _reached(project, right))


def _reached(project: Project, path: str) -> set[str]:
    found = {path}
    stack = [path]
    while stack:
        for other in project.imports(stack.pop()):
            if other not in found:
                found.add(other)
                stack.append(other)
    return found
