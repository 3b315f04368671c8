"""What the settings say of a program's functions, classes and values, as the keys of the engine's atoms."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ddplint.engine.conditions import WORLD, Case, Path
from ddplint.engine.names import canonical
from ddplint.engine.values import Atom, Class, Func, Lib, ModuleRef, Ranked, one
from ddplint.project import Project
from ddplint.project.definitions import Found, definitions
from ddplint.settings import OPTIONS, Settings

ON_ONE_RANK = one(Ranked((True,) + (False,) * (WORLD - 1), "declared rank predicate"))
"""The answer of a rank predicate."""
ONE_RANK: Path = (Case(1),)
"""Where a rank predicate is true."""

Name = tuple[str, str]
"""An option and a name that it is given."""


@dataclass(frozen=True)
class Declared:
    """The keys of what each setting names.

    ``present`` are the names that the project holds; ``missing`` those that it should, as it has the module in front.
    """

    predicates: frozenset[str]
    sharding: frozenset[str]
    savers: frozenset[str]
    unwraps: frozenset[str]
    present: frozenset[Name]
    missing: frozenset[Name]

    def names(self, full: str) -> bool:
        """Whether a library's function, class or value of this full name is declared to be anything."""
        return any(full in keys for keys in (self.predicates, self.sharding, self.savers, self.unwraps))

    def is_predicate(self, owner: Atom | None, name: str) -> bool:
        """Whether the member ``name`` of a class or module is a rank predicate; of a class, also by its bases."""
        owners: Iterable[Atom] = owner.mro() if isinstance(owner, Class) else (owner,) if owner is not None else ()
        return bool(self.predicates) and any(f"{step.key}.{name}" in self.predicates for step in owners)

    def is_class_of_predicate(self, name: str) -> bool:
        """Whether a member of the library's class ``name`` is a rank predicate."""
        return any(key.rpartition(".")[0] == name for key in self.predicates)

    def shards(self, cls: Class | Lib | None) -> bool:
        """Whether instances of a class give each rank a part of its own."""
        owners: Iterable[Atom] = cls.mro() if isinstance(cls, Class) else (cls,) if cls is not None else ()
        return bool(self.sharding) and any(step.key in self.sharding for step in owners)


def declared(project: Project, entry: str, settings: Settings) -> Declared:
    """What ``settings`` say about the program that starts at the file ``entry``."""
    present: set[Name] = set()
    missing: set[Name] = set()

    def keys(field: str, names: Iterable[str]) -> frozenset[str]:
        known: set[str] = set()
        for name in names:
            everything = definitions(project, entry, name)
            fitting = [found for found in everything if _fits(field, found)]
            if not fitting:
                missing.add((OPTIONS[field], name))
            elif fitting != [name]:
                present.add((OPTIONS[field], name))
            known.update(_key(found) for found in fitting)
        return frozenset(known)

    return Declared(
        predicates=keys("rank_predicates", settings.rank_predicates),
        sharding=keys("sharding_classes", settings.sharding_classes),
        savers=keys("one_rank_savers", settings.one_rank_savers),
        unwraps=keys("unwrap_functions", settings.unwrap_functions),
        present=frozenset(present),
        missing=frozenset(missing),
    )


def _fits(field: str, found: Found) -> bool:
    """Whether something is of the kind that an option names."""
    if isinstance(found, str):
        return True
    if field == "sharding_classes":
        return isinstance(found.node, ast.ClassDef)
    return not isinstance(found.node, ast.ClassDef) and (field == "rank_predicates" or found.node is not None)


def _key(found: Found) -> str:
    if isinstance(found, str):
        return canonical(found)
    home = ModuleRef(found.module.path, found.module)
    if isinstance(found.node, ast.ClassDef):
        return Class(found.node, home, (), {}).key
    if found.node is not None:
        return Func(found.node, home, (), {}).key
    owner = home if found.owner is None else Class(found.owner, home, (), {})
    return f"{owner.key}.{found.name}"
