"""Which programs can come to a wrap at all: names are followed backward through text, before anything is run."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from ddplint.project.files import WRAPPER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_WORD = re.compile(rb"(\.?)[ \t]*([^\W\d]\w*)")
_DEFINITION = re.compile(rb"([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)")
_RENAMED = re.compile(
    rb"DistributedDataParallel[ \t]+as[ \t]+(\w+)"
    rb"|^[ \t]*(\w+)[ \t]*=[^=\n][^\n]*DistributedDataParallel\b(?![ \t]*\()"
    rb"|\bclass[ \t]+(\w+)[^\n]*DistributedDataParallel",
    re.MULTILINE,
)
_NOT_CODE = re.compile(rb"""#.*|"[^"\w][^"]*"|'[^'\w][^']*'|"\w+[^"\w][^"]*"|'\w+[^'\w][^']*'""")
"""Comments, and texts in quotes that are more than one word (which may be the name of something)."""
_DOCUMENTED = re.compile(rb"(\"{3}|'{3})(?:[^\\]|\\.)*?\1", re.DOTALL)
_STARTED = re.compile(rb"if[ \t(]+__name__\b")
_IMPORT = (b"import ", b"from ")
_ASKS_TYPE = (b"isinstance", b"type(", b"issubclass")
_BY_THEMSELVES = frozenset({b"forward"})
"""Methods that run though nobody names them, beside those with two underscores."""


@dataclass(eq=False, slots=True)
class Block:
    """A definition, or what stands outside of any: its words, those behind a dot apart."""

    path: str
    name: bytes
    is_method: bool = False
    plain: set[bytes] = field(default_factory=set)
    attributes: set[bytes] = field(default_factory=set)
    owner: Block | None = None
    """The class whose instances run the method by themselves; of a decorated definition, what runs at the import."""


def programs_that_may_wrap(
    files: Iterable[str],
    source: Callable[[str], bytes | None],
    blocks_of: Callable[[str], Iterable[Block]],
    imports: Mapping[str, Iterable[str]],
) -> frozenset[str]:
    """Those of ``files`` that, run as a program, may come to a wrap; ``blocks_of`` gives the ``blocks`` of each.

    A function or class is reached by its name in its own file and in those that import it, a method by its name behind
    a dot anywhere, and what stands outside of definitions by an import. More is found than is so, never less, but for
    names that are computed.
    """
    found_blocks: list[Block] = []
    wrappers = {WRAPPER}
    for path in files:
        text = source(path) or b""
        if WRAPPER in text:
            wrappers.update(name for match in _RENAMED.finditer(text) for name in match.groups() if name)
        found_blocks += blocks_of(path)
    leading = _leading(found_blocks, wrappers, imports)
    importing = _Importers(imports)
    found = {block.path for block in leading}
    for path in sorted({block.path for block in leading if not block.name}):
        found |= importing.of(path)
    return frozenset(found)


def _leading(blocks: list[Block], wrappers: set[bytes], imports: Mapping[str, Iterable[str]]) -> set[Block]:
    """The blocks that wrap, or that name one that does."""
    holders: dict[bytes, list[Block]] = defaultdict(list)
    behind_dots: dict[bytes, list[Block]] = defaultdict(list)
    for block in blocks:
        for word in block.plain | block.attributes:
            holders[word].append(block)
        for word in block.attributes:
            behind_dots[word].append(block)
    importing = _Importers(imports)
    waiting = [block for wrapper in sorted(wrappers) for block in holders[wrapper]]
    found = set(waiting)
    while waiting:
        block = waiting.pop()
        if block.is_method:
            namers = behind_dots[block.name]
        else:
            near = importing.of(block.path)
            namers = [
                other
                for other in holders[block.name]
                if other.path in near or (other.path == block.path and block.name in other.plain)
            ]
        for other in (*namers, *([block.owner] if block.owner else [])):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


class _Importers:
    """Which files import one, themselves or through others."""

    def __init__(self, imports: Mapping[str, Iterable[str]]) -> None:
        self._direct: dict[str, list[str]] = defaultdict(list)
        for path, imported in imports.items():
            for other in imported:
                self._direct[other].append(path)
        self._known: dict[str, set[str]] = {}

    def of(self, path: str) -> set[str]:
        """The files that reach the file at ``path`` along imports."""
        if path not in self._known:
            found: set[str] = set()
            waiting = [path]
            while waiting:
                for other in self._direct.get(waiting.pop(), ()):
                    if other not in found:
                        found.add(other)
                        waiting.append(other)
            self._known[path] = found
        return self._known[path]


def blocks(path: str, source: bytes) -> Iterator[Block]:
    """The definitions in the text of the file at ``path``, and what stands outside of them."""
    outside, started = Block(path, b""), Block(path, b"__main__")
    yield outside
    yield started
    around: list[tuple[int, bytes, Block]] = []
    decorated = False
    for line in _DOCUMENTED.sub(b"", source).split(b"\n"):
        stripped = line.lstrip()
        if not stripped or stripped.startswith(b"#"):
            continue
        depth = len(line) - len(stripped)
        if not stripped.startswith((b")", b"]", b"}")):
            while around and around[-1][0] >= depth:
                around.pop()
        if (match := _DEFINITION.match(line)) is not None and all(kind == b"class" for _, kind, _ in around):
            holder = around[-1][2] if around else None
            name = match.group(3)
            block = Block(path, name, is_method=holder is not None and match.group(2) == b"def")
            if decorated:
                block.owner = outside
            elif holder is not None and (
                name.startswith(b"__") or name in _BY_THEMSELVES or match.group(2) == b"class"
            ):
                block.owner = holder
            around.append((depth, match.group(2), block))
            yield block
            decorated = False
        elif not around and _STARTED.match(line):
            around.append((depth, b"if", started))
        block = around[-1][2] if around else outside
        if not around and stripped.startswith(_IMPORT):
            continue
        if stripped.startswith(b"@"):
            decorated = True
        code = _NOT_CODE.sub(b"", line)
        asks = any(word in code for word in _ASKS_TYPE)
        for dot, word in _WORD.findall(code):
            if asks and word + b"(" not in code:
                continue
            (block.attributes if dot else block.plain).add(word)
