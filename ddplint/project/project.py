"""One linted project: files, imports, programs and parsed modules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from ddplint.project.files import shows_wrap
from ddplint.project.graph import Graph
from ddplint.project.imports import Import, ImportReader
from ddplint.project.parse import lines_of, parse
from ddplint.project.texts import KeptTexts, Texts
from ddplint.project.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Mapping

    from ddplint.project.reach import Block

_MOST_READ = 300
"""The names in more files than these lead nearly everywhere, and reading them takes longer than it spares."""
_KEPT_SOURCE = 2 << 20
"""Bytes of source whose trees are kept; a tree takes about 40 times its source."""


@dataclass(eq=False, slots=True)
class Module:
    """A parsed file."""

    path: str
    """Absolute real path."""
    display: str
    """Relative to the root, with forward slashes."""
    source: bytes
    tree: ast.Module
    is_package: bool
    """Whether it is an ``__init__.py``."""

    def lines(self) -> list[bytes]:
        """Its lines as Python counts them, in UTF-8, whose bytes are what the columns of the tree count."""
        return lines_of(self.source)


class Project:
    """The project below one root.

    Every answer depends on the text of the project alone, not on what was asked before. Files in folders that the walk
    skips (see ``walk.scan``) are nobody's import; asked about, such a file stands alone, with what it imports.
    """

    def __init__(self, root: str, unsaved: Mapping[str, bytes] | None = None, *, lasts: bool = False) -> None:
        """``root`` as ``find_root`` gives it; ``unsaved`` maps absolute paths to the text that replaces the file's.

        ``lasts``: what is read is kept, so that ``renew`` can be called.
        """
        self.root = os.path.realpath(root)
        self._texts = KeptTexts(unsaved) if lasts else Texts(unsaved)
        self._modules: dict[str, Module | None] = {}
        self._kept = 0
        self._holding: dict[tuple[bytes, ...], tuple[str, ...]] = {}
        self._imported: dict[str, tuple[str, ...]] = {}
        self._blocks: dict[str, tuple[Block, ...]] = {}

    def renew(self, unsaved: Mapping[str, bytes]) -> bool:
        """Take the files as they stand now, with ``unsaved`` in place of some; what did not change is not read again.

        Returns whether an answer may be another one than before: if so, none of the old ones holds.
        """
        assert isinstance(self._texts, KeptTexts), "made to be asked once"
        changed = self._texts.renew(unsaved)
        tree = Tree(self.root, self._texts.unsaved)
        if tree.is_like(self._tree):
            if not changed:
                return False
        else:
            self._tree = tree
            self._imported.clear()
            self.__dict__.pop("_reader", None)
        for path in changed:
            self._imported.pop(path, None)
            self._blocks.pop(path, None)
            self._drop(path)
        self._holding.clear()
        for name in ("_wraps", "_graph", "_programs_that_may_wrap"):
            self.__dict__.pop(name, None)
        return True

    @property
    def files(self) -> tuple[str, ...]:
        """The project's files, sorted."""
        return self._tree.files

    def wraps(self) -> frozenset[str]:
        """The project's files whose bytes show a native wrap."""
        return self._wraps

    def source(self, path: str) -> bytes | None:
        """The text of the file at ``path``; ``None`` if it is unreadable or too large."""
        return self._texts.get(path)

    def module(self, path: str) -> Module | None:
        """The parsed file at ``path``; ``None`` if it is unreadable, too large or no Python.

        It is the same object each time, until the files parsed since are more than 2 MiB of source: those not asked for
        lately are then parsed anew.
        """
        if path in self._modules:
            module = self._modules.pop(path)
        else:
            module = self._parse(path)
            self._kept += len(module.source) if module else 0
        self._modules[path] = module
        self._drop_oldest()
        return module

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        """The file that ``import name`` or ``from name import …`` in the file ``importer`` means.

        ``level`` counts the dots before ``name``. A package is its ``__init__.py``; a folder without one is the
        folder's own path. ``None`` if it is not in the project.

        An absolute name is looked for beside the importing file, then in each folder above it up to the root, and in
        ``src``, ``lib`` and ``python`` of each; the nearest place that holds the whole name counts. A name of the
        standard library or of a common third-party package is not looked for among the members of a package.
        """
        return self._tree.resolve(importer, name, level)

    def submodule(self, path: str, name: str) -> str | None:
        """The module ``name`` in the package or folder at ``path``, as ``resolve`` gives both; ``None`` if none."""
        return self._tree.submodule(path, name)

    def imports(self, path: str) -> tuple[str, ...]:
        """The project's files that the file at ``path`` imports itself, anywhere in it, sorted.

        With the packages on the way to them. Read off the bytes; may name a file that only looks imported.
        """
        known = self._graph.imports.get(path)
        return self._read_imports(path) if known is None else known

    def _read_imports(self, path: str) -> tuple[str, ...]:
        if path not in self._imported:
            found: set[str] = set()
            for statement in self._reader.statements(self.source(path) or b""):
                self._collect(path, statement, found)
            found.discard(path)
            self._imported[path] = tuple(sorted(found))
        return self._imported[path]

    def dependents(self, path: str) -> tuple[str, ...]:
        """The programs in which the file at ``path`` runs, sorted.

        These are the files, itself included, from which it is reached along imports and which reach a native wrap, in
        themselves or in what they import.
        """
        if path in self._tree:
            return self._graph.dependents(path)
        return (path,) if self._wraps_alone(path) else ()

    def matters(self, path: str) -> bool:
        """Whether the file at ``path`` has dependents at all."""
        return path in self._graph.matters if path in self._tree else self._wraps_alone(path)

    def may_wrap(self, path: str) -> bool:
        """Whether the file at ``path``, run as a program, may come to a wrap, as far as names tell."""
        return path in self._programs_that_may_wrap or path not in self._tree

    def mentions(self, name: str, among: Iterable[str]) -> bool:
        """Whether the identifier ``name`` stands as a word in the bytes of one of the files ``among``."""
        word = name.encode()
        return any(_has_word(source, word) for path in among if (source := self.source(path)) is not None)

    def holding(self, words: tuple[bytes, ...]) -> tuple[str, ...]:
        """The project's files whose bytes hold one of ``words``, sorted."""
        if words not in self._holding:
            self._holding[words] = tuple(
                path
                for path in self.files
                if (source := self.source(path)) is not None and any(word in source for word in words)
            )
        return self._holding[words]

    @cached_property
    def _tree(self) -> Tree:
        return Tree(self.root, self._texts.unsaved)

    @cached_property
    def _reader(self) -> ImportReader:
        return ImportReader(self._tree.names)

    @cached_property
    def _wraps(self) -> frozenset[str]:
        return frozenset(path for path in self.files if shows_wrap(self.source(path) or b""))

    @cached_property
    def _graph(self) -> Graph:
        wraps = self._wraps
        return Graph(self.files if wraps else (), self._read_imports, wraps)

    @cached_property
    def _programs_that_may_wrap(self) -> frozenset[str]:
        if len(self._graph.matters) > _MOST_READ:
            return self._graph.programs
        from ddplint.project.reach import programs_that_may_wrap

        return programs_that_may_wrap(sorted(self._graph.matters), self.source, self._blocks_of, self._graph.imports)

    def _blocks_of(self, path: str) -> tuple[Block, ...]:
        if path in self._blocks:
            return self._blocks[path]
        from ddplint.project.reach import blocks

        found = tuple(blocks(path, self.source(path) or b""))
        if isinstance(self._texts, KeptTexts):
            self._blocks[path] = found
        return found

    def _wraps_alone(self, path: str) -> bool:
        """Whether a file that is no part of the tree reaches a wrap."""
        if shows_wrap(self.source(path) or b""):
            return True
        programs = self._graph.programs
        return bool(programs) and any(imported in programs for imported in self.imports(path))

    def _collect(self, importer: str, statement: Import, found: set[str]) -> None:
        """Add what ``statement`` imports to ``found``."""
        tree = self._tree
        target = tree.resolve(importer, statement.module, statement.level)
        if target is None:
            # `import package.missing` still runs the package.
            parent = statement.module.rpartition(".")[0]
            if parent and not statement.level:
                self._collect(importer, Import(parent, 0, ()), found)
            return
        targets = [target]
        targets += [module for name in statement.names if (module := tree.submodule(target, name))]
        stop = importer.rpartition(os.sep)[0]
        for module in targets:
            if module in tree:
                found.add(module)
            found.update(tree.packages_above(module, stop))

    def _parse(self, path: str) -> Module | None:
        source = self.source(path)
        tree = None if source is None else parse(source)
        if source is None or tree is None:
            return None
        display = os.path.relpath(path, self.root).replace(os.sep, "/")
        return Module(path, display, source, tree, os.path.basename(path) == "__init__.py")

    def _drop_oldest(self) -> None:
        """Forget the modules asked for longest ago, down to the limit, never the last."""
        while self._kept > _KEPT_SOURCE and len(self._modules) > 1:
            self._drop(next(iter(self._modules)))

    def _drop(self, path: str) -> None:
        module = self._modules.pop(path, None)
        self._kept -= len(module.source) if module else 0


def _has_word(source: bytes, word: bytes) -> bool:
    at = source.find(word)
    while at >= 0:
        end = at + len(word)
        if not _in_identifier(source[at - 1 : at]) and not _in_identifier(source[end : end + 1]):
            return True
        at = source.find(word, end)
    return False


def _in_identifier(byte: bytes) -> bool:
    """Whether ``byte`` (or nothing) can be part of an identifier; a byte above ASCII counts as a letter."""
    return byte.isalnum() or byte == b"_" or byte >= b"\x80"
