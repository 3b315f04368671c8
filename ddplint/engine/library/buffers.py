"""Which networks have buffers, told by what their constructors make: few of these are run."""

from __future__ import annotations

import ast
import re

from ddplint.engine.conditions import EVERY_RANK
from ddplint.engine.machine import Machine
from ddplint.engine.values import Atom, Class, Lib, ModuleRef, Obj, Value, one

_IN_LIBRARIES = re.compile(
    r"torch\.nn\.(?:\w+\.)*(?:Lazy|Sync)?BatchNorm(?:[123]d)?$|torchvision\.models\.(?:\w+\.)*"
    r"(?:(?:wide_)?resne|densenet|mobilenet|efficientnet|regnet|googlenet|inception|shufflenet|mnasnet|vgg\d+_bn)"
)
_DEEPEST = 8


def look_for_buffers(m: Machine, wrapper: Obj) -> None:
    """Note whether a wrapped network surely has buffers, where the wrapper is called by some ranks alone."""
    if "buffers" in wrapper.notes or all(case.mask == EVERY_RANK for case in m.path):
        return
    inner = wrapper.attrs.get("module")
    wrapper.notes["buffers"] = inner is not None and all(_has(m, atom, set(), _DEEPEST) for atom in inner.atoms())


def _has(m: Machine, thing: Atom, seen: set[int], depth: int) -> bool:
    if id(thing) in seen or not depth:
        return False
    seen.add(id(thing))
    match thing:
        case Lib(name):
            return _IN_LIBRARIES.match(name) is not None
        case Class():
            return any(isinstance(cls, Class) and _makes_some(m, cls, seen, depth) for cls in thing.mro())
        case Obj(kind="module" | "list" | "dict" | "tuple"):
            parts = [atom for value in thing.attrs.values() for atom in value.atoms()]
            parts += [thing.cls] if thing.cls is not None else []
            return any(_has(m, part, seen, depth - 1) for part in parts)
    return False


def _makes_some(m: Machine, cls: Class, seen: set[int], depth: int) -> bool:
    """Whether a class registers a buffer, or makes a part that has one, outside its ``forward``."""
    for method in cls.node.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "forward":
            continue
        for node in ast.walk(method):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Attribute) and node.func.attr == "register_buffer":
                return True
            made = _named(m, cls.home, node.func)
            if made is not None and any(_has(m, atom, seen, depth - 1) for atom in made.atoms()):
                return True
    return False


def _named(m: Machine, home: ModuleRef, node: ast.expr) -> Value | None:
    """The class that a call of ``node`` makes an object of, as far as its name tells."""
    match node:
        case ast.Attribute(value=inner, attr="from_pretrained" | "from_config"):
            return _named(m, home, inner)
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name != "self":
            holder = m.member(home, name)
            atom = holder.only if holder is not None else None
            if isinstance(atom, Lib):
                return one(Lib(f"{atom.name}.{attr}"))
            return m.member(atom, attr) if isinstance(atom, ModuleRef) else None
        case ast.Name(id=name) if name[:1].isupper():
            return m.member(home, name)
    return None
