"""What import statements bind."""

from __future__ import annotations

import ast
from functools import partial

from ddplint.engine import library
from ddplint.engine.machine import Machine
from ddplint.engine.names import canonical, hints_rank
from ddplint.engine.values import Atom, Lib, ModuleRef, Sym, Value, one


def module_member(m: Machine, ref: ModuleRef, name: str) -> Value:
    """What a name of a module of the project stands for, seen from outside."""
    found = m.member(ref, name)
    if found is not None:
        return found
    if (path := m.project.submodule(ref.path, name)) is not None and path != ref.path:
        return import_path(m, path)
    for star in ref.library_stars:
        if (known := library.star(m, star, name)) is not None:
            return known
    return one(Sym(f"{ref.key}.{name}", ranked=hints_rank(name)))


def import_path(m: Machine, path: str) -> Value:
    """The module at a path."""
    return one(m.module(path))


def imported(m: Machine, node: ast.Import | ast.ImportFrom) -> None:
    """Bind what an import statement binds."""
    here = m.frame.home.path
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = m.project.resolve(here, alias.name)
            if alias.asname:
                value = import_path(m, path) if path else one(Lib(canonical(alias.name)))
                m.write(m.frame.names, alias.asname, value)
                continue
            first = alias.name.split(".")[0]
            root = m.project.resolve(here, first)
            if path and root:
                import_path(m, path)
                m.write(m.frame.names, first, import_path(m, root))
            elif path is None:
                m.write(m.frame.names, first, one(Lib(canonical(first))))
        return
    source = m.project.resolve(here, node.module or "", node.level)
    for alias in node.names:
        if alias.name == "*":
            _import_star(m, node, source)
            continue
        if source is not None:
            ref = import_path(m, source)
            value = m.choose(ref, partial(_imported_from, m, alias.name))
        elif node.level:
            value = one(Sym(f"unreadable {node.module}.{alias.name}"))
        else:
            value = library.named(m, f"{node.module}.{alias.name}")
        m.write(m.frame.names, alias.asname or alias.name, value)


def _imported_from(m: Machine, name: str, atom: Atom) -> Value:
    return module_member(m, atom, name) if isinstance(atom, ModuleRef) else one(Sym(f"{atom.key}.{name}"))


def _import_star(m: Machine, node: ast.ImportFrom, source: str | None) -> None:
    home = m.frame.home
    if source is None:
        if not node.level and node.module:
            home.library_stars.append(node.module)
        return
    ref = m.module(source)
    if ref is not home:
        home.project_stars.insert(0, ref)
