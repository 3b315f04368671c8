"""The methods of a class, as its instances have them."""

from __future__ import annotations

from ddplint.engine.values import Alternative, Atom, Bound, Class, Func, Lib, Obj, Value


def method(thing: Obj, name: str) -> Value | None:
    """The project's method ``name`` of an object, bound to it."""
    if isinstance(thing.cls, Class) and (found := thing.cls.lookup(name)) is not None:
        return bind(found, thing, thing.cls)
    return None


def bind(value: Value, thing: Atom, cls: Class) -> Value:
    """A member of a class as its instance ``thing`` has it: functions become methods."""
    bound: list[Alternative] = []
    for case, atom in value.alternatives:
        if isinstance(atom, Func) and not _is_static(atom):
            owner: Atom = cls if _is_classmethod(atom) else thing
            bound.append((case, Bound(owner, atom.name, atom)))
        else:
            bound.append((case, atom))
    return Value(tuple(bound))


def _decorated(func: Func, name: str) -> bool:
    return any(isinstance(a, Lib) and a.name == name for v in func.decorators for a in v.atoms())


def _is_static(func: Func) -> bool:
    return _decorated(func, "builtins.staticmethod")


def _is_classmethod(func: Func) -> bool:
    return _decorated(func, "builtins.classmethod")


def is_property(func: Func) -> bool:
    """Whether reading it calls it."""
    return any(
        isinstance(a, Lib) and a.name in ("builtins.property", "functools.cached_property")
        for v in func.decorators
        for a in v.atoms()
    )
