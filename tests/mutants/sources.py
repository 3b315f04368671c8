"""A case's files as trees that can be changed, each expected message tied to the node it stands at."""

from __future__ import annotations

import ast
import copy
import io
import re
import tempfile
import tokenize
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.analysis import Analysis
from ddplint.rules import BY_SYMBOL

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "testdata" / "cases"
EXPECTED = re.compile(r"#\s*\[((?:ddp-[a-z-]+)(?:\s*,\s*ddp-[a-z-]+)*)\]\s*$")
_WORD = re.compile(r"[A-Za-z_]\w*")

Found = Counter[tuple[str, int, int, str]]
"""Path, line, column and symbol of each message."""


class UnwritableError(Exception):
    """The changed tree cannot be written as text that means the same."""


@dataclass
class File:
    """A Python file: its tree, and its text as long as that is the tree's."""

    source: bytes
    tree: ast.Module | None
    """``None``: no Python; such a file is left alone."""
    fresh: bool = True
    """Whether ``source`` still is the tree's text."""

    def text(self) -> str:
        """The text of the tree, that of the case if the tree was not changed."""
        assert self.tree is not None
        if self.fresh:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(self.source).readline)
            text = self.source.decode(encoding)
            return text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"
        except (ValueError, RecursionError) as error:
            raise UnwritableError from error


@dataclass
class Sources:
    """The files of a case, by their paths in it."""

    name: str
    files: dict[str, File]
    others: dict[str, bytes] = field(default_factory=dict)
    """The files that are not Python."""
    laid_out: dict[str, str] = field(default_factory=dict)
    """The texts of files that got another layout."""
    count: int = 0

    def trees(self) -> dict[str, ast.Module]:
        """The trees that can be changed."""
        return {path: file.tree for path, file in sorted(self.files.items()) if file.tree is not None}

    def changed(self, path: str) -> None:
        """Take note that the tree of a file is no longer that of its text."""
        self.files[path].fresh = False
        self.laid_out.pop(path, None)

    def text(self, path: str) -> str:
        """The text of a file as it now stands."""
        return self.laid_out[path] if path in self.laid_out else self.files[path].text()

    def new_name(self, capital: bool = False) -> str:
        """A name that says nothing and stands nowhere in the case."""
        self.count += 1
        name = f"{'Fern' if capital else 'fern'}{self.count}"
        return name if name not in self.words() else self.new_name(capital)

    def words(self) -> set[str]:
        """Every word in the files as they stood at the beginning."""
        return words_of(self.name)

    def spoken(self) -> set[str]:
        """The words in strings, in files that are not Python, and in Python files that cannot be read."""
        found: set[str] = set()
        for tree in self.trees().values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.update(_words(node.value))
        rest = [*self.others.values(), *(file.source for file in self.files.values() if file.tree is None)]
        for data in rest:
            found.update(_words(data.decode("utf-8", "replace")))
        return found

    def write(self, folder: Path) -> Found:
        """Write the files below ``folder``; the messages they have to get."""
        (folder / ".git").mkdir(parents=True)
        wanted: Found = Counter()
        for path, file in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.tree is None:
                target.write_bytes(file.source)
                continue
            if file.fresh and path not in self.laid_out:
                target.write_bytes(file.source)
                again = file.tree
            else:
                text = self.text(path)
                target.write_bytes(text.encode())
                try:
                    again = ast.parse(text.encode())
                    compile(again, path, "exec")
                except SyntaxError as error:
                    raise UnwritableError from error
            for old, new in paired(file.tree, again):
                for symbol in getattr(old, "expected", ()):
                    wanted[path, new.lineno, new.col_offset, symbol] += 1  # type: ignore[attr-defined]
        for path, data in self.others.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return wanted


def _words(text: str) -> set[str]:
    """The words of a text; an option's (``--batch-size``) as the name it gets."""
    return {form for word in _WORD.findall(text.replace("-", "_")) for form in (word, word.strip("_"))}


def paired(left: ast.Module, right: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes of two trees that are the same but for their places."""
    ones, others = list(_placed(left)), list(_placed(right))
    if [type(node) for node in ones] != [type(node) for node in others]:
        raise UnwritableError
    yield from zip(ones, others, strict=True)


def _placed(tree: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr))


def found_in(folder: Path) -> Found:
    """What is reported in the Python files below ``folder``."""
    return Counter((path, *place[:2], symbol) for path, place, symbol in _reported(folder))


def _reported(folder: Path) -> Iterator[tuple[str, tuple[int, int, int, int], str]]:
    """Path, place and symbol of each message; columns in bytes, as in trees."""
    analysis = Analysis()
    for file in sorted(path for path in folder.rglob("*.py") if path.is_file()):
        lines = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
        for finding in analysis.findings(str(file), list(BY_SYMBOL)):
            span = finding.span
            start = len(lines[span.line - 1].decode("utf-8", "replace")[: span.column].encode())
            end = len(lines[span.end_line - 1].decode("utf-8", "replace")[: span.end_column].encode())
            yield file.relative_to(folder).as_posix(), (span.line, start, span.end_line, end), finding.symbol


def names() -> list[str]:
    """The cases that are all there (no generator), have no options, and hold Python that can be changed."""
    return [
        toml.parent.name
        for toml in sorted(CASES.rglob("case.toml"))
        if not re.search(r"^generate\b", toml.read_text(encoding="utf-8"), re.MULTILINE)
        and not toml.parent.name.startswith("option-")  # an option names what a change may name anew
        and any(_read(path).tree is not None for path in toml.parent.rglob("*.py"))
    ]


@cache
def words_of(name: str) -> set[str]:
    """Every word in the files of a case."""
    found: set[str] = set()
    for path in (CASES / name).rglob("*"):
        found.update([path.stem])
        if path.is_file():
            found.update(_WORD.findall(path.read_bytes().decode("utf-8", "replace")))
    return found


def load(name: str) -> Sources:
    """A case with its expected messages tied to nodes."""
    return copy.deepcopy(_loaded(name))


@cache
def _loaded(name: str) -> Sources:
    case = CASES / name
    files: dict[str, File] = {}
    others: dict[str, bytes] = {}
    for path in sorted(case.rglob("*")):
        if path.is_file() and path.name != "case.toml" and "__pycache__" not in path.parts:
            if path.suffix == ".py":
                files[path.relative_to(case).as_posix()] = _read(path)
            else:
                others[path.relative_to(case).as_posix()] = path.read_bytes()
    sources = Sources(name, files, others)
    with tempfile.TemporaryDirectory() as folder:
        _tie(sources, Path(folder).resolve() / name)
    return sources


def _read(path: Path) -> File:
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return File(source, None)
    return File(source, tree)


def _tie(sources: Sources, folder: Path) -> None:
    """Tie the messages of a case to nodes; they have to be those that the comments in it ask for."""
    sources.write(folder)
    messages = list(_reported(folder))
    lines = Counter((path, place[0], symbol) for path, place, symbol in messages)
    assert lines == _wanted(sources), f"{sources.name}: the case itself does not hold"
    for path, place, symbol in messages:
        tree = sources.files[path].tree
        assert tree is not None
        node = next(node for node in _placed(tree) if _underlined(node) == place)
        node.expected = [*getattr(node, "expected", []), symbol]  # type: ignore[attr-defined]


def _underlined(node: ast.AST) -> tuple[int, int, int, int]:
    """What a message about a node underlines: of a call, to the end of what is called, of a test, to its own end."""
    end: ast.AST = node
    if isinstance(node, ast.Call):
        end = node.func
    elif isinstance(node, ast.If | ast.While):
        end = node.test
    assert isinstance(node, ast.expr | ast.stmt)
    assert isinstance(end, ast.expr | ast.stmt)
    return node.lineno, node.col_offset, end.end_lineno or 0, end.end_col_offset or 0


def _wanted(sources: Sources) -> Counter[tuple[str, int, str]]:
    wanted: Counter[tuple[str, int, str]] = Counter()
    for path, file in sources.files.items():
        if file.tree is None:
            continue
        for number, line in enumerate(file.text().split("\n"), 1):
            if match := EXPECTED.search(line):
                for symbol in BY_SYMBOL.keys() & set(re.split(r"\s*,\s*", match.group(1))):
                    wanted[path, number, symbol] += 1
    return wanted
