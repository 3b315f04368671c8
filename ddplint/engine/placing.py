"""Where a finding stands: the construct, the wrong call, the first of several arms."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ddplint.engine import facts
from ddplint.engine.conditions import meets
from ddplint.engine.values import Site


def settled_chain(chain: Iterable[Site]) -> tuple[Site, ...]:
    """The calls that lead to a place and the place itself, a recursion's inner calls left out."""
    kept: list[Site] = []
    seen: dict[str, int] = {}
    for site in chain:
        here = function_of(site)
        if here in seen:
            del kept[seen[here] :]
            for name in [name for name, at in seen.items() if at >= len(kept)]:
                del seen[name]
        seen[here] = len(kept)
        kept.append(site)
    return tuple(kept)


def function_of(site: Site) -> str:
    """The innermost function around a site, by file and first line."""
    best = ""
    size = None
    for first, last in _functions(site.module.tree):
        if first <= site.line <= last and (size is None or last - first < size):
            best, size = f"{first}", last - first
    return f"{site.module.path}:{best}"


def _functions(tree: ast.Module) -> list[tuple[int, int]]:
    known = getattr(tree, "known_functions", None)
    if known is None:
        known = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        tree.known_functions = known  # type: ignore[attr-defined]
    return known


def decorated_within(site: Site, call: Site) -> bool:
    """Whether ``call``, made by a decorator, runs the decorated function in which ``site`` stands."""
    around = _function_at(site)
    names = {_base_name(decorator) for decorator in around.decorator_list} if around is not None else set()
    return bool(names) and any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name in names
        and node.lineno <= call.line <= (node.end_lineno or node.lineno)
        for node in ast.walk(call.module.tree)
    )


def _function_at(site: Site) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    around = [
        node
        for node in ast.walk(site.module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= site.line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def in_function(site: Site, name: str) -> bool:
    """Whether the innermost function around a site is called ``name``."""
    around = _function_at(site)
    return around is not None and around.name == name


def other_calls(route: tuple[Site, ...], known: Iterable[tuple[Site, ...]]) -> list[Site]:
    """The calls, by its name, of the function in which a route ends that are on none of the ``known`` routes to there.

    They are looked for in the files that the routes go through. A program does not seem to come there.
    """
    around = _function_at(route[-1])
    if around is None:
        return []
    ways = [way for way in known if way[-1] == route[-1]]
    taken = {way[-2] for way in ways if len(way) > 1}
    modules = {site.module.path: site.module for way in ways for site in way}
    calls = [Site(modules[path], node) for path in sorted(modules) for node in _calls_of(around, modules[path].tree)]
    inside = range(around.lineno, (around.end_lineno or around.lineno) + 1)
    return [
        site for site in calls if site not in taken and not (site.module is route[-1].module and site.line in inside)
    ]


def _calls_of(function: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> Iterator[ast.Call]:
    """The calls in a file that look as if they were of this function: of a method, on anything but a module.

    Those are none whose arguments it does not take.
    """
    modules = {name.split(".")[0] for name in _imported(tree)}
    first = function.args.args[0].arg if function.args.args else ""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=function.name)) if name in modules:
                continue
            case ast.Call(func=ast.Attribute(attr=function.name)) if first in ("self", "cls"):
                if _takes(function.args, node, 1):
                    yield node
            case ast.Call(func=ast.Name(id=function.name)) if first not in ("self", "cls"):
                if _takes(function.args, node, 0):
                    yield node


def _takes(parameters: ast.arguments, call: ast.Call, own: int) -> bool:
    """Whether a function takes the arguments of a call, as far as they are written out one by one."""
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)][own:]
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(value, ast.Starred) for value in call.args):
        return True
    needed = names[len(call.args) : max(0, len(names) - len(parameters.defaults))]
    fits = len(call.args) <= len(names) or parameters.vararg is not None
    return fits and given.issuperset(needed)


def _imported(tree: ast.Module) -> Iterator[str]:
    return (part.asname or part.name for node in ast.walk(tree) if isinstance(node, ast.Import) for part in node.names)


def _base_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def under_a_test(route: Iterable[Site]) -> bool:
    """Whether an ``if`` stands around a place, or around a call that leads to it, whatever it tests."""
    return any(_in_an_arm(site) for site in route)


def starts_anew(loop: ast.AST, name: str, step: Site) -> bool | None:
    """Whether a loop sets what it counts under a name back to zero where it steps; None where it sets it otherwise."""
    found = False
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=[*targets], value=value) if any(_is_name(target, name) for target in targets):
                if isinstance(value, ast.BinOp) and _is_name(value.left, name):
                    continue
                if not isinstance(value, ast.Constant) or value.value != 0 or not _in_one_arm(loop, node, step.node):
                    return None
                found = True
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target) | ast.For(target=target):
                if _is_name(target, name):
                    return None
    return found


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _in_one_arm(loop: ast.AST, one: ast.AST, other: ast.AST) -> bool:
    """Whether the innermost ``if`` around a statement has another in the same arm."""
    arms = [
        arm
        for node in ast.walk(loop)
        if isinstance(node, ast.If)
        for arm in (node.body, node.orelse)
        if any(part is one for statement in arm for part in ast.walk(statement))
    ]
    if not arms:
        return False
    inner = min(arms, key=lambda arm: (arm[-1].end_lineno or arm[-1].lineno) - arm[0].lineno)
    return any(part is other for statement in inner for part in ast.walk(statement))


def _in_an_arm(site: Site) -> bool:
    line = site.line
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.If | ast.IfExp) and node.lineno <= line <= (node.end_lineno or line):
            if any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)):
                continue
            arms = [*node.body, *node.orelse] if isinstance(node, ast.If) else [node.body, node.orelse]
            if any(part is site.node for arm in arms for part in ast.walk(arm)):
                return True
    return False


def places_to_report(wrong: Iterable[facts.Event], right: Iterable[facts.Event]) -> list[tuple[Site, facts.Event]]:
    """Where each wrong use of a construct is reported."""
    good = [settled_chain((*event.chain, event.site)) for event in right]
    found: dict[Site, facts.Event] = {}
    for event in wrong:
        found.setdefault(place_to_report((*event.chain, event.site), good), event)
    return list(found.items())


def place_to_report(chain: Iterable[Site], right: Iterable[tuple[Site, ...]]) -> Site:
    """Where a wrong use is reported, by the calls that lead to its construct, which is the last of ``chain``.

    At the construct where every use is wrong; otherwise at the call at which the wrong route leaves the right ones.
    """
    chain = settled_chain(chain)
    shared = max((_common(chain, other) for other in right), default=0)
    return chain[-1 - shared] if 0 < shared < len(chain) else chain[-1]


def _common(left: tuple[Site, ...], right: tuple[Site, ...]) -> int:
    count = 0
    for a, b in zip(reversed(left), reversed(right), strict=False):
        if a != b:
            break
        count += 1
    return count


def where_entered(region: facts.NoSync, inside: facts.Event) -> Site:
    """Where a ``no_sync`` is taken, seen from the function that also leads to what is ``inside``.

    Of a project's own context manager, that is its call.
    """
    first, second = (*region.chain, region.site), (*inside.chain, inside.site)
    at = 0
    while at < min(len(first), len(second)) - 1 and first[at] == second[at]:
        at += 1
    return first[at]


def first_of_arms(routes: Mapping[facts.Event, tuple[Site, ...]]) -> list[facts.Event]:
    """Of events in exclusive arms of one test, the first in the source.

    The last site of an event's route, the calls that lead to it, is where it stands in the arm.
    """
    kept: list[facts.Event] = []
    for event, (*calls, site) in sorted(routes.items(), key=lambda r: (r[1][-1].module.path, r[1][-1].line)):
        exclusive = [
            other
            for other in kept
            if routes[other][-1] != site
            and routes[other][-1].module.path == site.module.path
            and routes[other][:-1] == tuple(calls)
            and other.loops == event.loops
            and (not meets(other.path, event.path) or in_two_arms(routes[other][-1], site))
        ]
        if not exclusive:
            kept.append(event)
    return kept


def under_a_test_alone(event: facts.Event, other: facts.Event) -> bool:
    """Whether an ``if`` stands around an event, or around a call that leads to it, and not around another event."""
    route, its = (*event.chain, event.site), (*other.chain, other.site)
    apart = next((depth for depth, steps in enumerate(zip(route, its, strict=False)) if steps[0] != steps[1]), len(its))
    for depth, site in enumerate(route[apart:], apart):
        beside = its[depth] if depth == apart < len(its) and its[depth].module is site.module else None
        arms = (arm for both in _arms(site.module.tree) for arm in both)
        if any(site.line in arm and (beside is None or beside.line not in arm) for arm in arms):
            return True
    return False


def in_two_arms(left: Site, right: Site) -> bool:
    """Whether two places of one file stand in the body and in the ``else`` of one ``if``."""
    return left.module is right.module and any(
        (left.line in body and right.line in other) or (right.line in body and left.line in other)
        for body, other in _arms(left.module.tree)
    )


def _arms(tree: ast.Module) -> list[tuple[range, range]]:
    """The lines of the body and of the ``else`` of each ``if``."""
    known: list[tuple[range, range]] | None = getattr(tree, "known_arms", None)
    if known is None:
        ifs = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
        known = [(_lines(node.body), _lines(node.orelse)) for node in ifs]
        tree.known_arms = known  # type: ignore[attr-defined]
    return known


def _lines(statements: list[ast.stmt]) -> range:
    if not statements:
        return range(0)
    return range(statements[0].lineno, (statements[-1].end_lineno or statements[-1].lineno) + 1)


def encloses(site: Site, other: Site) -> bool:
    """Whether a statement holds a place."""
    node = site.node
    return site.module is other.module and site.line <= other.line <= (getattr(node, "end_lineno", 0) or 0)


def within(event: facts.Event, other: facts.Event) -> Site | None:
    """Where, in the function in which ``event`` stands, ``other`` or the call that leads to it stands."""
    depth = len(event.chain)
    route = (*other.chain, other.site)
    if len(route) <= depth or route[:depth] != event.chain:
        return None
    return route[depth] if function_of(route[depth]) == function_of(event.site) else None
