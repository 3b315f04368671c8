"""Code that does nothing, and docstrings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddplint.engine.names import hints_sharding

from .scopes import Function, arguments, bound, without_docstring

if TYPE_CHECKING:
    from random import Random

    from .sources import Sources

_FUNCTIONS = (
    "def {0}(first, second=2):\n    total = first\n    for number in range(second):\n"
    "        total += number\n    return total",
    "def {0}(*values, **named):\n    '''Nothing calls this.'''\n    return list(values) or named",
    "async def {0}(first):\n    return first",
    "{0} = lambda first: first * 2",
)
_CLASSES = (
    "class {0}:\n    kept = ()\n\n    def __init__(self, first=None):\n        self.first = first\n\n"
    "    def text(self):\n        return str(self.first)",
    "class {0}(Exception):\n    '''Nothing raises this.'''",
)
_ASSIGNMENTS = (
    "{0} = 0", "{0} = None", "{0} = 'text'", "{0} = [1, 2, 3]", "{0}: int = 5", "{0} = {{'a': 1}}", "pass", "'text'",
)  # fmt: skip
_IMPORTS = (
    "import json as {0}", "import string as {0}", "from math import pi as {0}", "import collections.abc as {0}",
    "import logging as {0}",
)  # fmt: skip
_NEVER = (
    "if False:\n    {0} = 1", "if 0:\n    {0} = None\nelse:\n    pass", "while False:\n    {0} = 2",
    "for {0} in ():\n    pass", "if not True:\n    {0} = 3", "try:\n    pass\nexcept ValueError:\n    {0} = 4",
)  # fmt: skip


def add_unused(sources: Sources, random: Random) -> bool:
    """Add a function, class, import or variable that nobody uses, or statements that never run."""
    name = sources.new_name()
    path, block, parent = random.choice(_places(sources))
    forms = [*_ASSIGNMENTS, *_NEVER, *_IMPORTS, *_FUNCTIONS]
    if isinstance(parent, ast.Module):
        forms += [*_FUNCTIONS, *_CLASSES, *_CLASSES]
    new = ast.parse(random.choice(forms).format(name)).body
    at = random.randint(without_docstring(block), len(block))
    block[at:at] = new
    sources.changed(path)
    return True


def add_never(sources: Sources, random: Random) -> bool:
    """Bind a variable of a function anew where that never runs."""
    choices = []
    for path, tree in sources.trees().items():
        for function in ast.walk(tree):
            if isinstance(function, Function):
                outer = {n for g in ast.walk(function) if isinstance(g, ast.Global | ast.Nonlocal) for n in g.names}
                names = ({a.arg for a in arguments(function)} | bound(function.body)) - outer
                choices += [(path, function, name) for name in sorted(names) if not hints_sharding(name)]
    if not choices:
        return False
    path, function, name = random.choice(choices)
    new = ast.parse(f"{random.choice(['if False', 'while 0'])}:\n    {name} = None").body
    at = random.randint(without_docstring(function.body), len(function.body))
    function.body[at:at] = new
    sources.changed(path)
    return True


def add_docstring(sources: Sources, random: Random) -> bool:
    """Give a module, class or function a docstring."""
    choices = [
        (path, node)
        for path, tree in sources.trees().items()
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef | ast.Module) and not ast.get_docstring(node, clean=False)
    ]
    if not choices:
        return False
    path, node = random.choice(choices)
    node.body.insert(0, ast.Expr(ast.Constant("What stands here.\n\nIt says 'nothing' that counts, \"at all\".\n")))
    sources.changed(path)
    return True


def _places(sources: Sources) -> list[tuple[str, list[ast.stmt], ast.AST]]:
    """Every block but the bodies of classes that look at what is in them."""
    found: list[tuple[str, list[ast.stmt], ast.AST]] = []
    for path, tree in sources.trees().items():
        found.append((path, tree.body, tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                continue
            found += [(path, block, node) for block in _own_blocks(node)]
    return found


def _own_blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks_here = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [block for block in blocks_here if isinstance(block, list) and block and isinstance(block[0], ast.stmt)]
