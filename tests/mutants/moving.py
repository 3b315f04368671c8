"""Moving code into new functions, classes and modules."""

from __future__ import annotations

import ast
import copy
import posixpath
from typing import TYPE_CHECKING

from ddplint.engine.names import hints_sharding

from .scopes import (
    Function,
    arguments,
    bound,
    functions,
    inner,
    looks_up_by_name,
    needed_now,
    own,
    read,
    surely_bound,
    without_docstring,
)
from .sources import File

if TYPE_CHECKING:
    from random import Random

    from .sources import Sources

_LEAVES = ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.Delete | ast.AsyncFor | ast.AsyncWith
_ACCUMULATES = {"backward", "step", "no_sync", "require_backward_grad_sync"}


def move_body(sources: Sources, random: Random) -> bool:
    """Move the body of a function into a new one, and call that."""
    choices = [
        (path, tree, function, cls)
        for path, tree in sources.trees().items()
        if not looks_up_by_name(tree)
        for function, cls in functions(tree)
        if isinstance(function, ast.FunctionDef) and _can_leave(function, cls)
    ]
    if not choices:
        return False
    path, tree, function, cls = random.choice(choices)
    name = sources.new_name()
    spec = function.args
    bare = ast.arguments(
        posonlyargs=[], args=[ast.arg(a.arg) for a in (*spec.posonlyargs, *spec.args)],
        vararg=spec.vararg and ast.arg(spec.vararg.arg), kwonlyargs=[ast.arg(a.arg) for a in spec.kwonlyargs],
        kw_defaults=[None for _ in spec.kwonlyargs], kwarg=spec.kwarg and ast.arg(spec.kwarg.arg), defaults=[],
    )  # fmt: skip
    passed: list[ast.expr] = [_load(a.arg) for a in bare.args]
    if bare.vararg:
        passed.append(ast.Starred(_load(bare.vararg.arg), ast.Load()))
    keywords = [ast.keyword(a.arg, _load(a.arg)) for a in bare.kwonlyargs]
    if bare.kwarg:
        keywords.append(ast.keyword(None, _load(bare.kwarg.arg)))
    first = without_docstring(function.body)
    moved = function.body[first:]
    function.body[first:] = [ast.Return(ast.Call(_load(name), passed, keywords))]
    _insert(tree, cls or function, _function(name, bare, moved))
    sources.changed(path)
    return True


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _function(name: str, spec: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(name=name, args=spec, body=body, decorator_list=[], type_params=[])


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(a) for a in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def _insert(tree: ast.Module, before: ast.stmt, new: ast.stmt) -> None:
    tree.body.insert(next(at for at, node in enumerate(tree.body) if node is before), new)


def _can_leave(function: Function, cls: ast.ClassDef | None) -> bool:
    """Whether the body means the same outside of its class."""
    if without_docstring(function.body) == len(function.body):
        return False
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Name) and node.id in ("super", "__class__") for node in nodes):
        return False
    if any(
        isinstance(node, ast.Attribute | ast.Name) and _is_private(getattr(node, "attr", "") or getattr(node, "id", ""))
        for node in nodes
    ):
        return False
    return cls is None or not _judged_by_its_text(cls)


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _judged_by_its_text(cls: ast.ClassDef) -> bool:
    """Whether it is a class of which the rules ask what stands in its body, as they do of datasets and samplers."""
    if any(ast.unparse(base).endswith(("Dataset", "Sampler")) for base in cls.bases):
        return True
    for node in ast.walk(cls):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
        if isinstance(name, str) and (hints_sharding(name) or name in ("epoch", "set_epoch")):
            return True
    return False


def move_block(sources: Sources, random: Random) -> bool:
    """Move some statements of a function into a new one that is given what they read and returns what they bind."""
    choices = []
    for path, tree in sources.trees().items():
        if looks_up_by_name(tree):
            continue
        for function, cls in functions(tree):
            if isinstance(function, ast.FunctionDef) and _can_leave(function, cls):
                start = without_docstring(function.body)
                for first in range(start, len(function.body)):
                    for end in range(first + 1, len(function.body) + 1):
                        choices.append((path, tree, function, cls, first, end))
    random.shuffle(choices)
    for path, tree, function, cls, first, end in choices[:20]:
        passed = _interface(function, first, end)
        if passed is None:
            continue
        name = sources.new_name()
        given, left = passed
        spec = _parameters(given)
        call = ast.Call(_load(name), [_load(a) for a in given], [])
        moved = function.body[first:end]
        replaced: ast.stmt = ast.Expr(call)
        if len(left) == 1:
            moved.append(ast.Return(_load(left[0])))
            replaced = ast.Assign([ast.Name(left[0], ast.Store())], call)
        elif left:
            moved.append(ast.Return(ast.Tuple([_load(a) for a in left], ast.Load())))
            replaced = ast.Assign([ast.Tuple([ast.Name(a, ast.Store()) for a in left], ast.Store())], call)
        function.body[first:end] = [replaced]
        _insert(tree, cls or function, _function(name, spec, moved))
        sources.changed(path)
        return True
    return False


def _interface(function: Function, first: int, end: int) -> tuple[list[str], list[str]] | None:
    """What a part of a body has to be given, and what it leaves behind; ``None`` where it cannot be taken out."""
    before, part, after = function.body[:first], function.body[first:end], function.body[end:]
    if any(isinstance(node, _LEAVES) for node in own(part)):
        return None
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(function)):
        return None
    words = [
        {node.attr for top in side for node in ast.walk(top) if isinstance(node, ast.Attribute)} & _ACCUMULATES
        for side in (part, [*before, *after])
    ]
    if words[0] and words[1]:
        return None  # the message stands where the step is decided on
    parameters = {argument.arg for argument in arguments(function)}
    variables = parameters | bound(function.body)
    stored, needed = bound(part), read(part) & variables
    known = parameters | surely_bound(before)
    possible = parameters | bound(before)
    given = needed & known
    if (needed - known) & possible or (stored & read(after) & possible) - known:
        return None
    left = stored & read(after)
    given |= (left - surely_bound(part)) & known
    if left - surely_bound(part) - given:
        return None
    if read(inner([*before, *after])) & stored or read(inner(part)) & bound(after):
        return None
    return sorted(given), sorted(left)


def move_run_part(sources: Sources, random: Random) -> bool:
    """Move what a module runs at its end, or under its test of ``__name__``, into a function."""
    choices = []
    for path, tree in sources.trees().items():
        if looks_up_by_name(tree):
            continue
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.If) and not last.orelse and "__name__" in read([last.test]):
            if not bound(last.body) & read(tree.body[:-1]):
                choices.append((path, tree, last))
        if (start := _tail(tree)) < len(tree.body):
            choices.append((path, tree, start))
    if not choices:
        return False
    path, tree, where = random.choice(choices)
    name = sources.new_name()
    call = ast.Expr(ast.Call(_load(name), [], []))
    if isinstance(where, ast.If):
        at = len(tree.body) - 1
        moved, where.body = where.body, [call]
    else:
        at = random.randrange(where, len(tree.body))
        moved, tree.body[at:] = tree.body[at:], [call]
        if stored := sorted(bound(moved)):
            moved.insert(0, ast.Global(stored))
    tree.body.insert(at, _function(name, _parameters([]), moved))
    sources.changed(path)
    return True


def _tail(tree: ast.Module) -> int:
    """Where the statements begin that a module runs after its last definition and import."""
    start = len(tree.body)
    while start and not isinstance(tree.body[start - 1], Function | ast.ClassDef | ast.Import | ast.ImportFrom):
        start -= 1
    start = max(start, without_docstring(tree.body))
    names_itself = any("__name__" in read([statement]) for statement in tree.body[start:])
    awkward = any(isinstance(n, ast.ImportFrom | ast.Global) for s in tree.body[start:] for n in ast.walk(s))
    annotated = any(isinstance(n, ast.AnnAssign) for n in own(tree.body[start:]))
    return len(tree.body) if names_itself or awkward or annotated else start


def into_class(sources: Sources, random: Random) -> bool:
    """Make functions of a module static methods, or methods, of a new class."""
    choices = []
    for path, tree in sources.trees().items():
        if not looks_up_by_name(tree):
            free = _functions_of_this_file(sources, path, tree)
            if free:
                choices.append((path, tree, free))
    if not choices:
        return False
    path, tree, free = random.choice(choices)
    chosen = random.sample(free, min(len(free), random.randint(1, 3)))
    at = max(tree.body.index(function) for function in chosen)
    first = min(tree.body.index(function) for function in chosen)
    names = {function.name for function in chosen}
    if any(needed_now(statement) & names for statement in tree.body[first : at + 1]):
        return False
    own = any(f.decorator_list or "self" in (a.arg for a in arguments(f)) for f in chosen)
    static = own or random.random() < 0.5
    title = sources.new_name(capital=True)
    for function in chosen:
        if static:
            function.decorator_list.insert(0, _load("staticmethod"))
        elif function.args.posonlyargs:
            function.args.posonlyargs.insert(0, ast.arg("self"))
        else:
            function.args.args.insert(0, ast.arg("self"))
    body = [s for s in tree.body if s in chosen]
    cls = ast.ClassDef(name=title, bases=[], keywords=[], body=body, decorator_list=[], type_params=[])
    tree.body.insert(at + 1, cls)
    tree.body[:] = [s for s in tree.body if s not in chosen]
    _Methods(names, title, made=not static).visit(tree)
    sources.changed(path)
    return True


class _Methods(ast.NodeTransformer):
    """Turns uses of functions into uses of methods."""

    def __init__(self, names: set[str], title: str, made: bool) -> None:
        self.names, self.title, self.made = names, title, made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        base: ast.expr = _load(self.title)
        if self.made:
            base = ast.Call(base, [], [])
        return ast.Attribute(base, node.id, ast.Load())


def _functions_of_this_file(sources: Sources, path: str, tree: ast.Module) -> list[Function]:
    """The functions that the file uses, and that no other file, string or second binding speaks of.

    One that nobody uses counts as run, which a method of a class that nobody makes does not.
    """
    elsewhere = sources.spoken() | {"self"}
    for other, another in sources.trees().items():
        for node in ast.walk(another):
            match node:
                case ast.ImportFrom(names=names) if other != path:
                    elsewhere.update(alias.name for alias in names)
                    if any(alias.name == "*" for alias in names):
                        return []
                case ast.Attribute(attr=name):
                    elsewhere.add(name)
                case ast.Global(names=names) if other == path:
                    elsewhere.update(names)
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if other == path:
                    elsewhere.add(name)
                case _:
                    pass
    bindings = [name for statement in tree.body for name in bound([statement])]
    nested = {f.name for f in ast.walk(tree) if isinstance(f, Function | ast.ClassDef) and f not in tree.body}
    return [
        function
        for function in tree.body
        if isinstance(function, Function)
        and function.name not in elsewhere | nested
        and bindings.count(function.name) == 1
        and function.name in read(other for other in tree.body if other is not function)
        and not any(_is_private(n.id) for n in ast.walk(function) if isinstance(n, ast.Name))
        and not any(_is_private(n.attr) for n in ast.walk(function) if isinstance(n, ast.Attribute))
    ]


def into_module(sources: Sources, random: Random) -> bool:
    """Move functions and classes of a module into a new module beside it, and import them from there."""
    choices = []
    for path, tree in sources.trees().items():
        if looks_up_by_name(tree) or any(isinstance(n, ast.Global) for n in ast.walk(tree)):
            continue
        for node in tree.body:
            if isinstance(node, Function | ast.ClassDef):
                group = _with_what_it_needs(sources, path, tree, node)
                if group is not None:
                    choices.append((path, tree, group))
    if not choices:
        return False
    path, tree, (moved, imports) = random.choice(choices)
    module = sources.new_name()
    folder = posixpath.dirname(path)
    relative = any(isinstance(s, ast.ImportFrom) and s.level for s in tree.body)
    names = [ast.alias(node.name) for node in moved]  # type: ignore[attr-defined]
    at = tree.body.index(moved[0])
    start = without_docstring(tree.body)
    future = [s for s in tree.body[:start] if isinstance(s, ast.ImportFrom)]
    imports = copy.deepcopy([*future, *imports])
    tree.body.insert(at, ast.ImportFrom(module, names, int(relative)))
    tree.body[:] = [statement for statement in tree.body if statement not in moved]
    sources.files[posixpath.join(folder, f"{module}.py")] = File(
        b"", ast.Module([*imports, *moved], type_ignores=[]), fresh=False
    )
    sources.changed(path)
    return True


def _with_what_it_needs(
    sources: Sources, path: str, tree: ast.Module, node: ast.stmt
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """A definition with the others it needs, and the imports they need; ``None`` where it needs more than these."""
    by_name: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in bound([statement]):
            by_name.setdefault(name, []).append(statement)
    group: list[ast.stmt] = []
    imports: list[ast.stmt] = []
    waiting = [node]
    while waiting:
        statement = waiting.pop()
        if statement in group or statement in imports:
            continue
        if isinstance(statement, Import):
            if _may_lead_back(sources, path, statement):
                return None
            imports.append(statement)
            continue
        if not isinstance(statement, Function | ast.ClassDef) or by_name[statement.name] != [statement]:
            return None
        group.append(statement)
        for name in sorted(read([statement])):
            if name in ("__name__", "__file__"):
                return None
            if len(by_name.get(name, ())) > 1:
                return None
            waiting += by_name.get(name, ())
    first = min(tree.body.index(statement) for statement in group)
    last = max((tree.body.index(statement) for statement in imports), default=-1)
    if last > first or any(isinstance(s, ast.ImportFrom) and s.names[0].name == "*" for s in tree.body):
        return None
    return sorted(group, key=tree.body.index), sorted(imports, key=tree.body.index)


Import = ast.Import | ast.ImportFrom


def _dotted(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The parts of the names in an import."""
    names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
    return {part for name in names for part in name.split(".")}


def _may_lead_back(sources: Sources, path: str, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import may be one of the case's own files that imports this one in turn."""
    parts = {part for other in sources.files for part in other.removesuffix(".py").split("/")}
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    inside = any(name.split(".")[0] in parts for name in names) or bool(getattr(node, "level", 0))
    stem = posixpath.basename(path).removesuffix(".py")
    others = [tree for other, tree in sources.trees().items() if other != path]
    imported = [node for tree in others for node in ast.walk(tree) if isinstance(node, Import)]
    named = any(stem in _dotted(node) for node in imported)
    return inside and (named or stem in ("__init__", "__main__"))
