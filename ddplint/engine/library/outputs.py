"""Which networks give only things that have parts of the network in common, told by the text of their ``forward``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import combinations

from ddplint.engine import facts
from ddplint.engine.machine import Machine
from ddplint.engine.values import Atom, Class, Func, Lib, Obj

_WITHOUT_PARAMETERS = re.compile(
    r"torch\.nn\.(?:\w+\.)*(?:\w*(?:ReLU6?|Dropout\w*|Pool\d?d?|Loss|Pad\d?d?|Softmax\w*|Sigmoid|Tanh|Shrink)"
    r"|[CGS]?ELU|SiLU|Mish|Softplus|Softsign|Hardswish|Threshold|Identity|Flatten|Unflatten|Fold|Unfold|Upsample\w*"
    r"|Pixel(?:Un)?[Ss]huffle|ChannelShuffle|Upsampling\w+|CosineSimilarity|PairwiseDistance)$"
)
_CUTS = frozenset({"detach", "item", "tolist", "numpy", "size", "argmax"})
_DEEPEST = 4

_Parts = frozenset[str]
_Known = dict[str, list[_Parts]]
"""Of each name, what its elements were made by; one element where it is a single thing."""


def look_at_outputs(m: Machine, made_of: Iterable[object]) -> None:
    """Note of wrappers whether what they give shares parameters, where a backward may come a second time."""
    for part in made_of:
        if not isinstance(part, facts.Forward) or part.module.kind != "ddp":
            continue
        wrapper = part.module
        again = part.index < wrapper.notes.get("backward", -1) or len(m.loops) > len(part.loops)
        if again and "outputs share" not in wrapper.notes:
            inner = wrapper.attrs.get("module")
            wrapper.notes["outputs share"] = inner is not None and all(
                _shares(m, atom, part.site.node) for atom in inner.atoms()
            )
        wrapper.notes["backward"] = len(m.trace.events)


def parts_of(m: Machine, cls: Class) -> frozenset[str]:
    """The attributes that a network's class sets to networks with parameters, as far as names tell."""
    known: frozenset[str] | None = getattr(cls.node, "known_parts", None)
    if known is None:
        known = _Reader(m, cls).parts
        cls.node.known_parts = known  # type: ignore[attr-defined]
    return known


def _shares(m: Machine, network: Atom, call: ast.AST) -> bool:
    if not isinstance(network, Obj) or network.kind != "module":
        return not _is_unpacked(m, call)
    if not isinstance(network.cls, Class):
        return True
    elements = _Reader(m, network.cls).returned("forward", _DEEPEST)
    if len(elements) < 2:
        return True
    return all(left & right for left, right in combinations(elements, 2))


def _is_unpacked(m: Machine, call: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Tuple | ast.List)
        for frame in m.frames
        if frame.home.module is not None
        for node in ast.walk(frame.home.module.tree)
    )


class _Reader:
    """Reads which of a network's parts each thing comes from that a method gives."""

    def __init__(self, m: Machine, cls: Class) -> None:
        self._m = m
        self._cls = cls
        self.parts = frozenset(
            name for step in cls.mro() if isinstance(step, Class) for name in self._parts_of(step) if name
        )  # fmt: skip

    def _parts_of(self, cls: Class) -> Iterable[str]:
        """The attributes that a class's methods set to networks with parameters, as far as names tell."""
        for node in ast.walk(cls.node):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.BinOp | ast.IfExp):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and _is_self(target.value):
                        if not self._is_without_parameters(cls, node.value):
                            yield target.attr

    def _is_without_parameters(self, cls: Class, value: ast.expr) -> bool:
        called = value.func if isinstance(value, ast.Call) else None
        names = []
        while isinstance(called, ast.Attribute):
            names.append(called.attr)
            called = called.value
        if not isinstance(called, ast.Name):
            return False
        found = self._m.member(cls.home, called.id)
        atom = found.only if found is not None else None
        full = ".".join([atom.name, *reversed(names)]) if isinstance(atom, Lib) else ""
        return _WITHOUT_PARAMETERS.match(full) is not None

    def returned(self, method: str, depth: int) -> list[_Parts]:
        """Of each thing that a method gives, the parts it comes from; one where it gives a single thing."""
        found = self._cls.lookup(method)
        func = found.only if found is not None else None
        if not isinstance(func, Func) or isinstance(func.node, ast.Lambda) or not depth:
            return []
        known: _Known = {}
        given: list[list[_Parts]] = []
        self._block(func.node.body, known, given, depth)
        # of several ways to return, the one with the most things decides
        return max(given, key=len, default=[])

    def _block(self, body: list[ast.stmt], known: _Known, given: list[list[_Parts]], depth: int) -> None:
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    given.append(self._elements(value, known, depth))
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bind(target, self._elements(value, known, depth), known)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(target, self._elements(value, known, depth), known)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    known[name] = [_all(known.get(name, [])) | self._parts_in(value, known, depth)]
                case ast.For(target=target, iter=over, body=inner, orelse=orelse):
                    self._bind(target, [self._parts_in(over, known, depth, iterated=True)], known)
                    for _ in range(2):
                        self._block(inner, known, given, depth)
                    self._block(orelse, known, given, depth)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args)):
                    if attr in ("append", "extend", "update", "insert"):
                        more = frozenset[str]().union(*(self._parts_in(arg, known, depth) for arg in args))
                        known[name] = [*known.get(name, []), more] if more not in known.get(name, []) else known[name]
                case _:
                    for inner in _blocks(statement):
                        self._block(inner, known, given, depth)

    def _bind(self, target: ast.expr, elements: list[_Parts], known: _Known) -> None:
        match target:
            case ast.Name(id=name):
                known[name] = elements
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                same = len(elts) == len(elements)
                for number, element in enumerate(elts):
                    self._bind(element, [elements[number]] if same else [_all(elements)], known)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant()):
                known[name] = [*known.get(name, []), _all(elements)]

    def _elements(self, value: ast.expr, known: _Known, depth: int) -> list[_Parts]:
        match value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [self._parts_in(part, known, depth) for part in parts]
            case ast.Dict(values=parts):
                return [self._parts_in(part, known, depth) for part in parts]
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords) if keywords:
                return [self._parts_in(keyword.value, known, depth) for keyword in keywords]
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args) if _is_self(owner):
                if attr not in self.parts and len(elements := self.returned(attr, depth - 1)) > 1:
                    given = frozenset[str]().union(*(self._parts_in(arg, known, depth) for arg in args))
                    return [element | given for element in elements]
        return [self._parts_in(value, known, depth)]

    def _parts_in(self, node: ast.expr, known: _Known, depth: int, iterated: bool = False) -> _Parts:
        """The parts that a value comes from."""
        found: set[str] = set()
        match node:
            case ast.Name(id=name):
                return _all(known.get(name, []))
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _CUTS:
                return frozenset()
            case ast.Call(func=func):
                owner = _part_of_self(func)
                if owner in self.parts:
                    found.add(owner)
                elif owner and isinstance(func, ast.Attribute) and _is_self(func.value):
                    found |= _all(self.returned(func.attr, depth - 1))
            case ast.Attribute() | ast.Subscript() if iterated and (owner := _part_of_self(node)) in self.parts:
                found.add(owner)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found |= self._parts_in(child, known, depth, iterated)
            elif isinstance(child, ast.keyword):
                found |= self._parts_in(child.value, known, depth)
        return frozenset(found)


def _all(elements: list[_Parts]) -> _Parts:
    return frozenset[str]().union(*elements)


def _blocks(statement: ast.stmt) -> Iterable[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _part_of_self(node: ast.expr) -> str:
    """The attribute of ``self`` that an expression goes on from: ``layers`` of ``self.layers[0].weight``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and _is_self(node.value):
            return node.attr
        node = node.value
    return ""
