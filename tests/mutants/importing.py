"""Other spellings of the same import."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .scopes import Function, bound, looks_up_by_name

if TYPE_CHECKING:
    from random import Random

    from .sources import Sources


def import_otherwise(sources: Sources, random: Random) -> bool:
    """Turn ``from a import b`` into ``import a`` with ``a.b`` where it is used, or give the import another name."""
    choices = []
    for path, tree in sources.trees().items():
        if looks_up_by_name(tree):
            continue
        plain = _names_bound_once(sources, path, tree)
        for statement in tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                choices += [
                    (path, tree, statement, alias)
                    for alias in statement.names
                    if (alias.asname or alias.name) in plain and getattr(statement, "module", "") != "__future__"
                ]
    random.shuffle(choices)
    for path, tree, statement, alias in choices:
        new = _respelled(sources, random, path, statement, alias)
        if new is None:
            continue
        added, used = new
        at = tree.body.index(statement)
        statement.names.remove(alias)
        tree.body[at : at + 1] = [*([statement] if statement.names else []), added]
        _Uses(alias.asname or alias.name, used).visit(tree)
        sources.changed(path)
        return True
    return False


def _respelled(
    sources: Sources, random: Random, path: str, statement: ast.Import | ast.ImportFrom, alias: ast.alias
) -> tuple[ast.stmt, str] | None:
    """The new import, and how its name is then spelled."""
    name = sources.new_name()
    own_parts = {part for other in sources.files for part in other.removesuffix(".py").split("/")}
    if isinstance(statement, ast.Import):
        if alias.name.split(".")[0] in own_parts:
            return None
        if "." in alias.name and random.random() < 0.5:
            parent, _, last = alias.name.rpartition(".")
            return ast.ImportFrom(parent, [ast.alias(last, name)], 0), name
        return ast.Import([ast.alias(alias.name, name)]), name
    if random.random() < 1 / 3:
        return ast.ImportFrom(statement.module, [ast.alias(alias.name, name)], statement.level), name
    module = statement.module or ""
    if statement.level or module.split(".")[0] in own_parts:
        if not _defined_once(sources, module, alias.name):
            return None
        if statement.level == 0:
            return ast.Import([ast.alias(module, name)]), f"{name}.{alias.name}"
        if module and "." not in module:
            return ast.ImportFrom(None, [ast.alias(module, name)], statement.level), f"{name}.{alias.name}"
        return None
    first = module.split(".")[0]
    if random.random() < 0.5 and first in ("torch", "os", "pathlib"):
        if _is_others(sources, path, first):
            return None
        return ast.Import([ast.alias(module)]), f"{module}.{alias.name}"
    return ast.Import([ast.alias(module, name)]), f"{name}.{alias.name}"


def _is_others(sources: Sources, path: str, first: str) -> bool:
    """Whether the file uses the name of a library for anything else."""
    tree = sources.trees()[path]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == first and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.arg) and node.arg == first:
            return True
        if isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                if alias.asname == first or (isinstance(node, ast.ImportFrom) and alias.name == first):
                    return True
    return False


def _defined_once(sources: Sources, module: str, name: str) -> bool:
    """Whether a name is a function or class that its module binds once, and no file sets anew."""
    last = module.rpartition(".")[2]
    for path, tree in sources.trees().items():
        if path.removesuffix(".py").rpartition("/")[2] != last:
            continue
        here = [statement for statement in tree.body if name in bound([statement])]
        if len(here) != 1 or not isinstance(here[0], Function | ast.ClassDef):
            return False
        return not any(isinstance(n, ast.Global) and name in n.names for n in ast.walk(tree)) and not any(
            isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store)
            for other in sources.trees().values()
            for n in ast.walk(other)
        )
    return False


def _names_bound_once(sources: Sources, path: str, tree: ast.Module) -> set[str]:
    """The names of the module that nothing in it binds a second time, and no other file or string speaks of."""
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                names = [alias.asname or alias.name for alias in node.names]
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names = [name]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names = [name]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                pass
            case _:
                continue
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    others: set[str] = set(sources.spoken())
    for other, another in sources.trees().items():
        if other != path:
            for node in ast.walk(another):
                if isinstance(node, ast.ImportFrom):
                    if any(alias.name == "*" for alias in node.names):
                        return set()
                    others.update(alias.name for alias in node.names)
                elif isinstance(node, ast.Attribute):
                    others.add(node.attr)
    return {name for name, count in counts.items() if count == 1 and name not in others and "." not in name}


class _Uses(ast.NodeTransformer):
    """Replaces a name by a dotted one."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.old:
            return node
        new = ast.parse(self.new, mode="eval").body
        if hasattr(node, "expected"):
            new.expected = node.expected  # type: ignore[attr-defined]
        return new
