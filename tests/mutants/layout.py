"""Other texts for the same tree: comments, blank lines, line breaks in brackets, quotes, indentation, line ends."""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from .sources import Sources

    Lay = Callable[[list[tokenize.TokenInfo], list[str], Random], list[str]]

_OPEN, _CLOSE = "([{", ")]}"
_FSTRING = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
_FSTRING_END = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}
_PLAIN = re.compile(r"'[^'\"\\\n]*'|\"[^'\"\\\n]*\"")


def lay_out(sources: Sources, random: Random) -> bool:
    """Give one file another text that has the same tree."""
    path = random.choice(sorted(sources.trees()))
    text = sources.text(path).removeprefix("\ufeff").replace("\r\n", "\n")
    if "coding" in "".join(text.split("\n", 2)[:2]):
        return False  # what it declares would no longer be true
    text = random.choice([_comments, _comments, _break_lines, _break_lines, _quotes, _indent, _line_ends])(text, random)
    sources.laid_out[path] = text
    return True


def rewrite(sources: Sources, random: Random) -> bool:
    """Write one file as Python itself would, or all of them."""
    paths = sorted(sources.trees())
    for path in paths if random.random() < 0.5 else [random.choice(paths)]:
        sources.changed(path)
    return True


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _comments(text: str, random: Random) -> str:
    """Comment lines and blank lines between statements, and comments behind them."""
    lines = text.split("\n")
    starts, ends = [], []
    fresh = True
    for token in _tokens(text):
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING):
            continue
        if fresh and token.type != tokenize.ENDMARKER:
            starts.append(token.start[0] - 1)
        fresh = token.type == tokenize.NEWLINE
        if fresh and "#" not in lines[token.start[0] - 1] and not lines[token.start[0] - 1].endswith("\\"):
            ends.append(token.start[0] - 1)
    for at in random.sample(ends, min(len(ends), random.randint(1, 6))):
        simple = not lines[at].rstrip().endswith(":") and not lines[at].lstrip().startswith("@")
        lines[at] += random.choice(["  # as it was", "   ", "  # if rank == 0: torch.save(model, path)", ";" * simple])
    for at in sorted(random.sample(starts, min(len(starts), random.randint(1, 8))), reverse=True):
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        new = random.choice(
            [
                [""],
                ["", "", ""],
                [indent + "# a remark"],
                ["# a remark at the margin"],
                [indent + "# sampler.set_epoch(epoch)", ""],
                [indent + "    # (further in)"],
            ]
        )
        lines[at:at] = new
    return "\n".join(lines)


def _break_lines(text: str, random: Random) -> str:
    """Line breaks within brackets."""
    share = random.choice([0.1, 0.5, 1.0])
    places = []
    depth = inside = 0
    for token in _tokens(text):
        if token.type in _FSTRING:
            inside += 1
        elif token.type in _FSTRING_END:
            inside -= 1
        elif token.type == tokenize.OP and not inside:
            depth += (token.string in _OPEN) - (token.string in _CLOSE)
            if depth and (token.string in _OPEN or token.string == ",") and random.random() < share:
                places.append(token.end)
    lines = text.split("\n")
    for row, column in reversed(places):
        line = lines[row - 1]
        pad = " " * random.choice([0, 4, 8, 30])
        lines[row - 1 : row] = [line[:column] + random.choice(["", "", "  # so"]), pad + line[column:].lstrip(" ")]
    return "\n".join(lines)


def _quotes(text: str, random: Random) -> str:
    """Other quotes around short strings."""
    lines = text.split("\n")
    inside = 0
    for token in reversed(_tokens(text)):
        inside += (token.type in _FSTRING_END) - (token.type in _FSTRING)
        if token.type == tokenize.STRING and not inside and _PLAIN.fullmatch(token.string):
            row, column = token.start
            bare = token.string[1:-1]
            quote = random.choice(["'", '"', "'''", '"""'])
            lines[row - 1] = lines[row - 1][:column] + quote + bare + quote + lines[row - 1][token.end[1] :]
    return "\n".join(lines)


def _indent(text: str, random: Random) -> str:
    """Another width of indentation, or tabs."""
    lines = text.split("\n")
    step = random.choice([" ", "  ", "      ", "\t"])
    depth = 0
    fresh = True
    for token in _tokens(text):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type in (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
            continue
        else:
            if fresh:
                lines[token.start[0] - 1] = step * depth + lines[token.start[0] - 1].lstrip()
            fresh = token.type == tokenize.NEWLINE
    return "\n".join(lines)


def _line_ends(text: str, random: Random) -> str:
    """Other line ends, a byte order mark, form feeds."""
    form = random.choice(["crlf", "mark", "feed", "none at the end"])
    if form == "crlf" and "\r" not in text:
        return text.replace("\n", "\r\n")
    if form == "mark":
        return "\ufeff" + text.removeprefix("\ufeff")
    if form == "feed":
        return re.sub(r"^(?=def |class |import )", "\f", text, count=3, flags=re.MULTILINE)
    return text.rstrip("\n")
