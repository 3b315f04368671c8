"""What the text of the watched program says about a line that ran."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.analysis import Analysis
from ddplint.rules import bypassed_wrapper
from ddplint.rules.wrapper_state_dict import read_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_RANK = re.compile(r"rank|main|master|primary|chief|leader|zero|root|first", re.IGNORECASE)
_LOOKS = re.compile(r"exists|is_?file|sleep|\bstat\b")
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class _Setting:
    """Where a line stands in its own function, or in the module.

    ``tests`` are the texts of the tests that decide whether it is reached, ``arms`` the ``if`` statements that it
    stands in, each by its line and the arm, ``is_told`` whether the innermost asks for a parameter alone, ``block`` the
    line of the innermost ``with`` statement, ``scope`` that of the function, 0 in the module, ``loops`` those of loops
    around, outermost first; ``in_handler`` tells whether it stands in an ``except``.
    """

    scope: int = 0
    parameters: frozenset[str] = frozenset()
    loops: tuple[int, ...] = ()
    is_told: bool = False
    tests: tuple[str, ...] = ()
    arms: tuple[tuple[int, bool], ...] = ()
    block: int | None = None
    in_handler: bool = False


@dataclass(frozen=True)
class Exit:
    """A statement that leaves a loop or function, or goes on with the loop: ``kind`` is ``break`` and so on."""

    site: str
    kind: str
    line: int
    loops: tuple[int, ...]
    in_handler: bool


class Source:
    """Answers by parsing the files once; a file that cannot be read or parsed shows nothing.

    ``script`` is the program's first file, where the linter is to follow it.
    """

    def __init__(self, script: str | None = None) -> None:
        self._script = script

    def is_read_again(self, sites: Iterable[str]) -> bool:
        """Whether the program's text shows that what is written at one of ``sites`` is read with a wrapper's keys."""
        return not self._read_again.isdisjoint(sites)

    @cached_property
    def _read_again(self) -> frozenset[str]:
        if self._script is None:
            return frozenset()
        try:
            programs = Analysis().programs(os.path.abspath(self._script))
            return frozenset(f"{site.module.path}:{site.line}" for site in read_again(programs))
        except Exception:  # noqa: BLE001  # what the linter cannot follow shows nothing
            return frozenset()

    def call_past_wrapper(self, stack: Sequence[str]) -> tuple[str, ...]:
        """The call of a wrapped model past its wrapper that the text shows in a function of ``stack``, and its callers.

        It is empty where the text shows none or several.
        """
        for at, site in enumerate(stack):
            scope = _setting(site).scope
            calls = [
                call for call in self._past_wrapper if _file(call) == _file(site) and _setting(call).scope == scope
            ]
            if calls:
                return (calls[0], *stack[at + 1 :]) if len(calls) == 1 else ()
        return ()

    @cached_property
    def _past_wrapper(self) -> tuple[str, ...]:
        if self._script is None:
            return ()
        try:
            programs = Analysis().programs(os.path.abspath(self._script))
            found = {f"{one.path}:{one.span.line}" for one in bypassed_wrapper.check(programs)}
            return tuple(sorted(found))
        except Exception:  # noqa: BLE001  # what the linter cannot follow shows nothing
            return ()

    def assigned_before(self, site: str, attribute: str) -> str | None:
        """The last assignment to ``attribute`` of anything above the line in its own function; else the first below."""
        file, _, line = site.rpartition(":")
        scope = _setting(site).scope
        lines = [at for at, name in _assignments(file) if name == attribute and _settings(file)[at].scope == scope]
        above = [at for at in lines if at <= int(line)]
        return f"{file}:{above[-1] if above else lines[0]}" if lines else None

    def is_in_loop(self, site: str) -> bool:
        """Whether the line of a ``FILE:LINE`` stands in a loop of its own function, or of the module."""
        return bool(_setting(site).loops)

    def loops(self, site: str) -> tuple[int, ...]:
        """The lines of the loops around a line in its own function, outermost first."""
        return _setting(site).loops

    def are_in_one_function(self, one: str, other: str) -> bool:
        """Whether two lines stand in one function, or in one module outside all functions."""
        return _file(one) == _file(other) and _setting(one).scope == _setting(other).scope

    def exits(self, site: str) -> list[Exit]:
        """The statements in the line's own function that leave it or its loops, or go on with a loop, in order."""
        file = _file(site)
        return [
            Exit(f"{file}:{line}", kind, line, its.loops, its.in_handler)
            for line, kind in _exits(file)
            if (its := _settings(file)[line]).scope == _setting(site).scope
        ]

    def exit_at(self, site: str) -> Exit | None:
        """The statement of that sort that begins on the line itself."""
        return next((one for one in self.exits(site) if one.site == site), None)

    def ifs(self, site: str) -> list[str]:
        """The ``if`` statements that the line stands in, outermost first."""
        return [f"{_file(site)}:{line}" for line, _ in _setting(site).arms]

    def polls(self, site: str) -> bool:
        """Whether the line's own function holds a loop that looks for files or sleeps."""
        return any(scope == _setting(site).scope for scope in _polling(_file(site)))

    def hands_on(self, site: str) -> bool:
        """Whether the line calls what its function was given, with all the arguments it got: as a decorator does."""
        line = site.rpartition(":")[2]
        return line.isdecimal() and int(line) in _handing_on(_file(site))

    def is_told(self, site: str) -> bool:
        """Whether the line stands under a test of nothing but a parameter of its function: its caller decides."""
        return _setting(site).is_told

    def block_around(self, site: str) -> str | None:
        """The ``with`` statement that the line stands in, if any, as ``FILE:LINE``."""
        line = _setting(site).block
        return None if line is None else f"{site.rpartition(':')[0]}:{line}"

    def tests(self, site: str) -> tuple[str, ...]:
        """The texts of the tests in the line's own function that decide whether it is reached."""
        return _setting(site).tests

    def are_arms(self, one: str, other: str) -> bool:
        """Whether two lines of one file stand in different arms of one ``if`` statement."""
        if one.rpartition(":")[0] != other.rpartition(":")[0]:
            return False
        arms = dict(_setting(one).arms)
        return any(arms.get(line, arm) != arm for line, arm in _setting(other).arms)


def asks_for_rank(test: str) -> bool:
    """Whether the text of a test may tell the ranks apart, by its names."""
    return _RANK.search(test.replace("__main__", "")) is not None


def _file(site: str) -> str:
    return site.rpartition(":")[0]


def _setting(site: str) -> _Setting:
    file, _, line = site.rpartition(":")
    return _settings(file).get(int(line), _Setting()) if line.isdecimal() else _Setting()


@cache
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


@cache
def _assignments(file: str) -> list[tuple[int, str]]:
    """The lines of ``file`` on which an attribute is assigned to, in order, with its name."""
    tree = _tree(file)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign):
            found += [(node.lineno, target.attr) for target in node.targets if isinstance(target, ast.Attribute)]
    return sorted(found)


@cache
def _exits(file: str) -> list[tuple[int, str]]:
    """The lines of ``file`` with a ``break``, ``continue`` or ``return``, in order, each with that word."""
    tree = _tree(file)
    nodes = ast.walk(tree) if tree is not None else ()
    words = {ast.Break: "break", ast.Continue: "continue", ast.Return: "return"}
    return sorted(
        (node.lineno, words[type(node)]) for node in nodes if isinstance(node, ast.stmt) and type(node) in words
    )


@cache
def _polling(file: str) -> list[int]:
    """The functions of ``file``, by their lines, that hold a ``while`` which looks for files or sleeps."""
    tree = _tree(file)
    nodes = ast.walk(tree) if tree is not None else ()
    loops = [node for node in nodes if isinstance(node, ast.While) and _LOOKS.search(ast.unparse(node))]
    return [_settings(file)[loop.lineno].scope for loop in loops]


@cache
def _handing_on(file: str) -> frozenset[int]:
    tree = _tree(file)
    nodes = ast.walk(tree) if tree is not None else ()
    return frozenset(
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and any(isinstance(argument, ast.Starred) for argument in node.args)
        and any(keyword.arg is None for keyword in node.keywords)
    )


@cache
def _settings(file: str) -> dict[int, _Setting]:
    """How each line of ``file`` on which a statement or expression begins stands."""
    tree = _tree(file)
    if tree is None:
        return {}
    found: dict[int, _Setting] = {}
    stack: list[tuple[ast.AST, _Setting]] = [(tree, _Setting())]
    while stack:
        node, setting = stack.pop()
        if isinstance(node, ast.stmt | ast.expr):
            found[node.lineno] = setting
        stack.extend(_below(node, setting))
    return found


def _below(node: ast.AST, setting: _Setting) -> Iterator[tuple[ast.AST, _Setting]]:
    """What ``node``, which stands as ``setting``, consists of, each with how it stands."""
    if isinstance(node, _FUNCTIONS):
        named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        setting = _Setting(node.lineno, frozenset(argument.arg for argument in named))
    for name, value in ast.iter_fields(node):
        inner = setting
        if isinstance(node, _LOOPS) and name == "body":
            inner = replace(setting, loops=(*setting.loops, node.lineno), is_told=False)
        elif isinstance(node, ast.ExceptHandler):
            inner = replace(setting, in_handler=True)
        elif isinstance(node, ast.With | ast.AsyncWith) and name == "body":
            inner = replace(setting, block=node.lineno)
        elif isinstance(node, ast.If) and name != "test":
            inner = replace(
                setting,
                is_told=_is_parameter(node.test, setting.parameters),
                tests=(*setting.tests, ast.unparse(node.test)),
                arms=(*setting.arms, (node.lineno, name == "body")),
            )
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child, inner
                if isinstance(child, ast.If) and isinstance(child.body[-1], _LEAVING):
                    inner = replace(inner, tests=(*inner.tests, ast.unparse(child.test)))


def _is_parameter(test: ast.expr, parameters: frozenset[str]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(test, ast.Name) and test.id in parameters
