"""What the text of the watched program says about a line that ran."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.analysis import Analysis
from ddplint.rules.wrapper_state_dict import read_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class _Setting:
    """Where a line stands in its own function, or in the module.

    ``tests`` are the texts of the tests that decide whether it is reached, ``arms`` the ``if`` statements that it
    stands in, each by its line and the arm, ``is_told`` whether the innermost asks for a parameter alone, ``block`` the
    line of the innermost ``with`` statement.
    """

    parameters: frozenset[str] = frozenset()
    in_loop: bool = False
    is_told: bool = False
    tests: tuple[str, ...] = ()
    arms: tuple[tuple[int, bool], ...] = ()
    block: int | None = None


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

    def is_in_loop(self, site: str) -> bool:
        """Whether the line of a ``FILE:LINE`` stands in a loop of its own function, or of the module."""
        return _setting(site).in_loop

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


def _setting(site: str) -> _Setting:
    file, _, line = site.rpartition(":")
    return _settings(file).get(int(line), _Setting()) if line.isdecimal() else _Setting()


@cache
def _settings(file: str) -> dict[int, _Setting]:
    """How each line of ``file`` on which a statement or expression begins stands."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
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
        setting = _Setting(frozenset(argument.arg for argument in named))
    for name, value in ast.iter_fields(node):
        inner = setting
        if isinstance(node, _LOOPS) and name == "body":
            inner = replace(setting, in_loop=True, is_told=False)
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
