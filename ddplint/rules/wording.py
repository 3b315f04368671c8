"""How a message names things: in the words of the file it stands in, so that what it says to write can be written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddplint.engine.names import canonical
from ddplint.engine.placing import function_of
from ddplint.engine.values import Site

_LONGEST = 48
_MOST_WRAPPED = 4
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def written(node: ast.AST | None, otherwise: str) -> str:
    """The text of an expression that can be repeated elsewhere without doing anything; ``otherwise`` for others."""
    return spelled(node, otherwise) if node is not None and _is_plain(node) else otherwise


def spelled(node: ast.AST | None, otherwise: str) -> str:
    """The text of an expression that stays where it stands; ``otherwise`` for a long one."""
    if node is None:
        return otherwise
    text = ast.unparse(node)
    if '"' not in text:
        text = text.replace("'", '"')  # a message puts what to write between single quotes
    return text if len(text) <= _LONGEST else otherwise


def _is_plain(node: ast.AST) -> bool:
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner):
            return _is_plain(inner)
        case ast.Subscript(value=inner, slice=index):
            return _is_plain(inner) and _is_plain(index)
    return False


def receiver(site: Site, otherwise: str) -> str:
    """The text of what a call at ``site`` calls a method of."""
    node = site.node
    called = node.func if isinstance(node, ast.Call) else None
    return written(called.value if isinstance(called, ast.Attribute) else None, otherwise)


def argument(site: Site, position: int, *names: str) -> ast.expr | None:
    """An argument of the call at ``site``, by its position or one of its names."""
    if not isinstance(site.node, ast.Call):
        return None
    for keyword in site.node.keywords:
        if keyword.arg in names:
            return keyword.value
    given = site.node.args[: position + 1]
    return given[position] if len(given) > position and not any(isinstance(a, ast.Starred) for a in given) else None


_GO_OVER = frozenset({"enumerate", "iter", "tqdm", "islice", "cycle", "list"})
_NUMBERS = frozenset({"range", "trange", "count"})


def gone_over(site: Site, chain: tuple[Site, ...], known_at: Site) -> str:
    """The text of what a loop or an iterator at ``site`` goes over, in the names of the function around ``known_at``.

    ``chain``: the calls that lead to ``site``.
    """
    node: ast.AST = site.node
    for _ in range(_MOST_WRAPPED):
        if isinstance(node, ast.Call) and node.args and _last_name(node.func) in _GO_OVER:
            node = node.args[0]
        elif isinstance(node, ast.Name) and (value := _wrapped_as(node, site)) is not None:
            node = value
        else:
            break
    text = written(node, "loader")
    if function_of(site) == function_of(known_at) or (text.startswith("self.") and _in_one_class(site, known_at)):
        return text
    if chain and isinstance(node, ast.Name) and function_of(chain[-1]) == function_of(known_at):
        return _passed_as(node.id, site, chain[-1]) or "loader"
    return "loader"


def _passed_as(name: str, inside: Site, call: Site) -> str | None:
    """What ``call`` passes to the function around ``inside`` as its parameter ``name``."""
    around = [
        node
        for node in ast.walk(inside.module.tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= inside.line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return None
    names = [parameter.arg for parameter in max(around, key=lambda node: node.lineno).args.args]
    if name not in names:
        return None
    position = names.index(name) - (names[0] == "self")
    return written(argument(call, position, name), "") or None


def counter(loop: ast.AST) -> str | None:
    """The name in which a loop counts its rounds."""
    if not isinstance(loop, ast.For):
        return None
    target, over = loop.target, loop.iter
    while isinstance(over, ast.Call) and over.args and _last_name(over.func) in _GO_OVER:
        if isinstance(target, ast.Tuple) and _last_name(over.func) == "enumerate":
            return written(target.elts[0], "") or None
        over = over.args[0]
    counts = isinstance(over, ast.Call) and _last_name(over.func) in _NUMBERS
    return target.id if counts and isinstance(target, ast.Name) else None


def _in_one_class(left: Site, right: Site) -> bool:
    return left.module is right.module and any(
        isinstance(node, ast.ClassDef)
        and all(node.lineno <= site.line <= (node.end_lineno or node.lineno) for site in (left, right))
        for node in ast.walk(left.module.tree)
    )


def _wrapped_as(name: ast.Name, site: Site) -> ast.expr | None:
    """The ``tqdm(...)``, or the other name, that a name stands for in its function."""
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name.id for t in node.targets):
            arms = [node.value.orelse, node.value.body] if isinstance(node.value, ast.IfExp) else [node.value]
            for value in arms:
                is_other = isinstance(value, ast.Name) and value.id != name.id
                if is_other or (isinstance(value, ast.Call) and _last_name(value.func) in _GO_OVER):
                    if function_of(Site(site.module, node)) == function_of(site):
                        return value
    return None


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def outer_of(node: ast.AST, site: Site) -> str | None:
    """What the function around ``site`` calls the object whose ``.module`` an expression there is, or goes on from."""
    for _ in range(_MOST_WRAPPED):
        while isinstance(node, ast.Attribute) and node.attr != "module":
            node = node.value
        if isinstance(node, ast.Attribute):
            return written(node.value, "") or None
        if isinstance(node, ast.IfExp):
            arms = [arm for arm in (node.body, node.orelse) if isinstance(arm, ast.Attribute) and arm.attr == "module"]
            node = arms[0] if arms else node
            if not arms:
                return None
        elif isinstance(node, ast.Name) and (value := _bound_to(node, site)) is not None:
            node = value
        else:
            return None
    return None


def _bound_to(name: ast.Name, site: Site) -> ast.expr | None:
    """What the only assignment to a name in the function around ``site`` gives it."""
    here = function_of(site)
    values = [
        node.value
        for node in ast.walk(site.module.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
        and function_of(Site(site.module, node)) == here
    ]
    return values[0] if len(values) == 1 else None


def is_statement(site: Site) -> bool:
    """Whether the call at ``site`` stands for itself, so that nothing needs what it gives."""
    return any(isinstance(node, ast.Expr) and node.value is site.node for node in ast.walk(site.module.tree))


def name_of(dotted: str, site: Site) -> str:
    """What ``dotted`` of torch is called where ``site`` stands; its whole name where the file imports nothing of it."""
    best = dotted
    for statement in _imports(site.module.tree, site.line):
        for full, name in _bound(statement):
            same = canonical(full)
            if same == dotted or dotted.startswith(f"{same}."):
                here = name + dotted[len(same) :]
                best = min(best, here, key=len)
    return best


def _imports(tree: ast.AST, line: int) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements whose names are known at a line: those of the module and of the functions around it."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            elif isinstance(node, ast.stmt | ast.excepthandler) and (
                not isinstance(node, _SCOPES) or node.lineno <= line <= (node.end_lineno or node.lineno)
            ):
                waiting.append(node)


def _bound(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """What an import statement binds: the whole name and the name it is given."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            if statement.module and not statement.level and alias.name != "*":
                yield f"{statement.module}.{alias.name}", alias.asname or alias.name
        elif alias.asname:
            yield alias.name, alias.asname
        else:
            root = alias.name.partition(".")[0]
            yield root, root


def made_apart(site: Site, other: Site) -> bool:
    """Whether an ``if`` stands around ``site`` alone, so that ``other`` may run without it."""
    return any(
        isinstance(node, ast.If | ast.IfExp)
        and any(part is site.node for part in ast.walk(node))
        and not any(part is other.node for part in ast.walk(node))
        for node in ast.walk(site.module.tree)
        if getattr(node, "lineno", 0) <= site.line <= (getattr(node, "end_lineno", 0) or 0)
    )


def target_of(site: Site) -> tuple[ast.expr, bool] | None:
    """What the object made at ``site`` is assigned to, and whether that is None where the object is not made."""
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if node.value is site.node:
                return target, _is_none_elsewhere(site, target)
            if isinstance(node.value, ast.IfExp) and site.node in (node.value.body, node.value.orelse):
                return target, True
    return None


def _is_none_elsewhere(site: Site, target: ast.expr) -> bool:
    text = ast.unparse(target)
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and node.value.value is None
        and any(ast.unparse(other) == text for other in node.targets)
        for node in ast.walk(site.module.tree)
    )
