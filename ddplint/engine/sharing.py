"""What shares the samples out among the ranks, and how a sampler draws its order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddplint.engine.conditions import Path, conjoin
from ddplint.engine.names import hints_sharding
from ddplint.engine.values import UNSEEN, Class, Const, Lib, Obj, Ranked, Sym, Value


def samplers(loader: Obj, path: Path) -> Iterator[tuple[Obj | Sym | None, Path]]:
    """What decides the order of a loader, innermost: samplers, None for torch's own, ``Sym`` for what is not seen."""
    for name in ("batch_sampler", "sampler"):
        value = loader.attrs.get(name)
        if value is None:
            continue
        given = [(case, atom) for case, atom in value.within(path).alternatives]
        found = False
        for case, atom in given:
            inner = conjoin(path, (case,))
            if isinstance(atom, Const) and not atom.value:
                continue
            found = True
            yield from _unwrapped(atom, inner, 4)
        if found and not any(isinstance(atom, Const) and not atom.value for _, atom in given):
            return
    yield None, path


def _unwrapped(atom: object, path: Path, depth: int) -> Iterator[tuple[Obj | Sym | None, Path]]:
    if isinstance(atom, Obj):
        if atom.kind == "sampler" or depth == 0:
            yield atom, path
            return
        inner = []
        args = atom.notes.get("args")
        values = list(atom.attrs.values()) + (args.all() if args is not None else [])
        seen = set()
        for value in values:
            for case, part in value.within(path).alternatives:
                if isinstance(part, Obj) and id(part) not in seen and (part.kind == "sampler" or _is_sampler(part)):
                    seen.add(id(part))
                    inner.append((part, conjoin(path, (case,))))
        if inner:
            yield atom, path
            for part, case_path in inner:
                yield from _unwrapped(part, case_path, depth - 1)
        else:
            yield atom, path
    elif isinstance(atom, Sym):
        yield atom, path
    else:
        yield None, path


def _is_sampler(thing: Obj) -> bool:
    if isinstance(thing.cls, Lib):
        return thing.cls.name.endswith("Sampler")
    if isinstance(thing.cls, Class) and thing.kind == "instance":
        return thing.cls.is_sampler or (
            thing.cls.lookup("__iter__") is not None
            and thing.cls.lookup("__len__") is not None
            and "ampler" in thing.cls.name
        )
    return False


def divides(value: Value | None, path: Path) -> bool | None:
    """Whether each rank gets a part of its own of this dataset (or these indices); None where that is not seen."""
    if value is None:
        return False
    answers = [_divides(atom) for _, atom in value.within(path).alternatives]
    if any(answer is True for answer in answers):
        return True
    return None if any(answer is None for answer in answers) or not answers else False


def _divides(atom: object, depth: int = 4) -> bool | None:
    if isinstance(atom, Ranked):
        return True
    if isinstance(atom, Sym):
        if atom.ranked:
            return True
        if UNSEEN in atom.made_of or atom.opaque:
            return None
        inner = [_divides(part, depth - 1) for part in atom.made_of if isinstance(part, Obj)] if depth else []
        if any(answer is True for answer in inner):
            return True
        return None if any(answer is None for answer in inner) else False
    if isinstance(atom, Obj):
        if atom.notes.get("per_rank"):
            return True
        if isinstance(atom.cls, Class):
            if speaks_of_ranks(atom.cls):
                return None if atom.notes.get("given_rank") is None else _uses_what_it_is_given(atom)
            if atom.cls.opaque_base or _foreign(atom.cls):
                return None
            if depth:
                args = atom.notes.get("args")
                for given in args.all() if args is not None else ():
                    for part in given.atoms():
                        if isinstance(part, Obj | Sym | Ranked) and _divides(part, depth - 1) is True:
                            if isinstance(part, Obj) or (isinstance(part, Sym) and not _is_device(part)):
                                return True
            return None if _leaves_it_to_another(atom, depth) else False
        if atom.kind in ("list", "tuple") and depth:
            parts = [part for value in atom.attrs.values() for part in value.atoms()]
            if any(isinstance(part, Sym) and part.ranked and not _is_device(part) for part in parts):
                return True
            inner = [_divides(part, depth - 1) for part in parts if isinstance(part, Obj)]
            return True if True in inner else None if None in inner else False
        return None if atom.kind in ("namespace", "dp") else False
    return False


def _leaves_it_to_another(thing: Obj, depth: int) -> bool:
    """Whether an instance makes, or is given, one of a class whose methods speak of ranks."""
    assert isinstance(thing.cls, Class)
    if _makes_one_that_acts(thing.cls):
        return True
    args = thing.notes.get("args")
    parts = [part for value in (args.all() if args is not None and depth else ()) for part in value.atoms()]
    return any(
        _acts_by_rank(part.cls.node) or _leaves_it_to_another(part, depth - 1)
        for part in parts
        if isinstance(part, Obj) and isinstance(part.cls, Class)
    )


def _makes_one_that_acts(cls: Class) -> bool:
    """Whether the text of a class makes an instance of a class of the project whose methods speak of ranks."""
    known: bool | None = getattr(cls.node, "known_maker", None)
    if known is None:
        calls = (node.func for node in ast.walk(cls.node) if isinstance(node, ast.Call))
        made: list[ast.ClassDef] = []
        for name in dict.fromkeys(called.id for called in calls if isinstance(called, ast.Name)):
            if (value := cls.home.names.get(name)) is not None:
                made += [atom.node for atom in value.atoms() if isinstance(atom, Class)]
            made += [node for node in cls.home.pending.get(name, ()) if isinstance(node, ast.ClassDef)]
        known = any(_acts_by_rank(node) for node in made)
        cls.node.known_maker = known  # type: ignore[attr-defined]
    return known


def _acts_by_rank(cls: ast.ClassDef) -> bool:
    """Whether a method of a class, and not just its constructor, speaks of ranks."""
    known: bool | None = getattr(cls, "known_to_act", None)
    if known is None:
        known = any(
            _mentions_rank(statement)
            for function in cls.body
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for statement in function.body
        )
        cls.known_to_act = known  # type: ignore[attr-defined]
    return known


def _is_device(value: Sym) -> bool:
    return "device" in value.text


def _foreign(cls: Class) -> bool:
    """Whether a base comes from a library that may shard by itself."""
    return any(
        isinstance(base, Lib) and base.name.split(".")[0] not in ("torch", "torchvision", "builtins", "typing", "abc")
        for base in cls.mro()
    )


def _uses_what_it_is_given(thing: Obj) -> bool | None:
    """For a class that speaks of ranks: False where it only takes a rank or shard and never looks at it."""
    assert isinstance(thing.cls, Class)
    used = False
    for cls in thing.cls.mro():
        if not isinstance(cls, Class):
            if cls.name not in ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "builtins.object"):
                return None
            continue
        for function in cls.node.body:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in function.body:
                    used = used or _mentions_rank(statement)
    return None if used else False


def _mentions_rank(statement: ast.stmt) -> bool:
    """Whether a statement looks at a rank or shard; storing one away is not looking."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name | ast.Constant):
        if all(isinstance(target, ast.Attribute) for target in statement.targets):
            return False
    return any(
        hints_sharding(name)
        for node in ast.walk(statement)
        if (name := getattr(node, "id", None) or getattr(node, "attr", None)) and isinstance(name, str)
    ) or any(isinstance(node, ast.keyword | ast.Constant) and _names_rank(node) for node in ast.walk(statement))


def speaks_of_ranks(cls: Class) -> bool:
    """Whether a rank, world size or shard occurs in the body of a class or of its bases in the project."""
    for step in cls.mro():
        if not isinstance(step, Class):
            continue
        known = getattr(step.node, "known_to_speak", None)
        if known is None:
            known = any(_names_rank(node) for node in ast.walk(step.node))
            step.node.known_to_speak = known  # type: ignore[attr-defined]
        if known:
            return True
    return False


def _names_rank(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__init__"):
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return any(hints_sharding(parameter.arg) for parameter in parameters)
        case ast.Call(func=ast.Attribute(attr="shard")):
            return True
        case ast.Name(id="shard") | ast.Attribute(attr="shard"):
            return False
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return hints_sharding(name)
        case ast.Constant(value=str(text)):
            return text in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID")
        case _:
            return False


def _own_function(cls: Class, name: str) -> ast.AST | None:
    value = cls.lookup(name)
    atom = value.only if value is not None else None
    return getattr(atom, "node", None)


def keeps_seeding(cls: Class) -> bool:
    """Whether a subclass still orders its indices as DistributedSampler does, by seed and epoch."""
    own = _own_function(cls, "__iter__")
    if own is None:
        return True
    names = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(own)}
    return "epoch" in names or "super" in names


def draws_by_own_epoch(cls: Class) -> bool:
    """A project's sampler that seeds its order with its attribute ``epoch`` and never counts that up itself."""
    own = _own_function(cls, "__iter__")
    if own is None or not cls.is_sampler:
        return False
    reads = writes = False
    for node in ast.walk(own):
        if isinstance(node, ast.Attribute) and node.attr == "epoch":
            reads = reads or isinstance(node.ctx, ast.Load)
            writes = writes or isinstance(node.ctx, ast.Store)
    return reads and not writes and _own_function(cls, "set_epoch") is not None
