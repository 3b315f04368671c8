"""Consistent renames."""

from __future__ import annotations

import ast
import builtins
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.engine.names import hints_rank, hints_sharding

from .scopes import Function, arguments, bound, looks_up_by_name, own
from .sources import CASES

if TYPE_CHECKING:
    from random import Random

    from .sources import Sources


def rename_local(sources: Sources, random: Random) -> bool:
    """Give a local variable of a function another name."""
    choices = [
        (path, node, name)
        for path, tree in sources.trees().items()
        if not looks_up_by_name(tree)
        for node in ast.walk(tree)
        if isinstance(node, Function)
        for name in sorted(_locals(node))
    ]
    if not choices:
        return False
    path, function, name = random.choice(choices)
    _replace(function, name, sources.new_name())
    sources.changed(path)
    return True


def _locals(function: Function) -> set[str]:
    """The variables that belong to this function alone and are not parameters."""
    found = {n.id for n in own(function.body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found -= {argument.arg for argument in arguments(function)}
    for node in ast.walk(function):
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.difference_update(names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() if node is not function:
                found.difference_update(argument.arg for argument in arguments(node))
                if not isinstance(node, ast.Lambda):
                    found.difference_update({node.name}, bound(node.body))
            case ast.ClassDef():
                found.difference_update({node.name}, bound(node.body))
            case ast.Import() | ast.ImportFrom():
                found.difference_update(alias.asname or alias.name for alias in node.names)
            case _:
                pass
    return {name for name in found if not name.startswith("__") and not _speaks(name)}


def _replace(tree: ast.AST, old: str, new: str) -> None:
    """Rename the variable in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name == old:
            node.name = new
        elif isinstance(node, ast.MatchMapping) and node.rest == old:
            node.rest = new


def rename_everywhere(sources: Sources, random: Random) -> bool:
    """Give a function, class, parameter, attribute or module variable of the case another name, in all its files."""
    trees = sources.trees()
    if any(_reaches_in(tree) for tree in trees.values()):
        return False
    choices = sorted(_own_names(sources) - _taken(sources))
    if not choices:
        return False
    old = random.choice(choices)
    new = sources.new_name(capital=old[:1].isupper())
    for path, tree in trees.items():
        if _replace_everywhere(tree, old, new):
            sources.changed(path)
    return True


def _own_names(sources: Sources) -> set[str]:
    """The names that the case gives to functions, classes, parameters, attributes and module variables."""
    found: set[str] = set()
    for tree in sources.trees().values():
        found.update(bound(tree.body))
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.arg(arg=name) if name not in ("self", "cls"):
                    found.add(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    found.add(name)
                case _:
                    pass
    return {name for name in found if not name.startswith("__") and not _speaks(name)}


def _taken(sources: Sources) -> set[str]:
    """The names that are also others': libraries', files', strings', or methods that a library may call."""
    trees = sources.trees()
    found = sources.spoken() | foreign() | set(dir(builtins))
    found.update(part for path in sources.files for part in path.removesuffix(".py").split("/"))
    classes = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for tree in trees.values():
        libraries: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(part for alias in node.names for part in (alias.asname or alias.name).split("."))
                libraries.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.update((node.module or "").split("."))
                if not _own_module(sources, node):
                    found.update(name for alias in node.names for name in (alias.name, alias.asname or alias.name))
                    libraries.update(alias.asname or alias.name for alias in node.names)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not _plain(node, classes):
                found.update(bound(node.body))
            elif isinstance(node, ast.Call) and _leftmost(node.func) in libraries:
                found.update(keyword.arg for keyword in node.keywords if keyword.arg)
    return found


def _own_module(sources: Sources, node: ast.ImportFrom) -> bool:
    first = (node.module or "").split(".")[0]
    return bool(node.level) or any(first in path.removesuffix(".py").split("/") for path in sources.files)


def _plain(node: ast.ClassDef, classes: set[str]) -> bool:
    """Whether nothing but the case defines and calls the members of a class."""
    return not node.keywords and all(
        (name := base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else "")
        in classes
        or name == "object"
        for base in node.bases
    )


def _leftmost(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _reaches_in(tree: ast.AST) -> bool:
    """Whether names may be calculated."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(), *_]):
                pass  # the name stands there as a string
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "globals" | "locals" | "eval" | "exec")):
                return True
            case ast.Attribute(attr="__dict__" | "import_module" | "__name__"):
                return True
            case _:
                pass
    return False


def _replace_everywhere(tree: ast.AST, old: str, new: str) -> bool:
    met = False
    for node in ast.walk(tree):
        for field in ("id", "arg", "attr", "name", "asname", "rest"):
            if getattr(node, field, None) == old:
                setattr(node, field, new)
                met = True
        for field in ("names", "kwd_attrs"):
            listed = getattr(node, field, None)
            if isinstance(listed, list) and old in listed:
                setattr(node, field, [new if name == old else name for name in listed])
                met = True
    return met


def _speaks(name: str) -> bool:
    """Whether a name may tell of ranks, which counts where nothing else is known."""
    return hints_rank(name) or hints_sharding(name)


@cache
def foreign() -> frozenset[str]:
    """The attributes and keywords that some case uses without defining them: those of libraries."""
    found: set[str] = {name for kind in (str, bytes, list, dict, set, tuple, int, Path) for name in dir(kind)}
    for toml in CASES.rglob("case.toml"):
        used: set[str] = set()
        defined: set[str] = set()
        for path in toml.parent.rglob("*.py"):
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):
                continue
            for node in ast.walk(tree):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                        defined.add(name)
                    case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                        used.add(name)
                    case ast.ClassDef() | ast.Module():
                        defined.update(bound(node.body))
                    case ast.FunctionDef(name=name):
                        defined.add(name)
                    case _:
                        pass
        found |= used - defined
    return frozenset(found)
