"""What every rule is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ddplint.engine import facts
from ddplint.engine.placing import function_of
from ddplint.engine.questions import Program
from ddplint.engine.values import Obj, Site
from ddplint.findings import Confidence, Finding, Related, Span

_MOST_RELATED = 8

Check = Callable[[Sequence[Program]], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """What the outside needs to know of a rule.

    ``message`` is pylint's message template (``%s`` places are filled by ``Finding.details``);
    ``check`` finds the rule's mistakes in the programs that share files. All else is said on its page.
    """

    id: str
    symbol: str
    message: str
    check: Check
    default_enabled: bool = True


Other = tuple[Site | None, str]
"""Another place, if it is known, and what is there, for a reader who sees the line; empty: it is not shown."""


def finding(
    symbol: str, site: Site, details: Iterable[str], others: Iterable[Other] = (), branch: bool = False
) -> Finding:
    """A finding at ``site``; ``others`` are the other places its evidence stands at, in that function or elsewhere.

    Those that the message names come first: of very many, the first are kept.
    """
    here = function_of(site)
    known = [(other, text) for other, text in others if other is not None]
    there = [other for other, _ in known if function_of(other) not in (here, f"{site.module.path}:")]
    confidence = Confidence.INFERENCE if there else Confidence.CONTROL_FLOW if branch else Confidence.HIGH
    related: dict[Site, Related] = {}
    for other, text in known:
        if text and other != site:
            related.setdefault(other, Related(other.module.path, span(other), text))
    kept = tuple(related.values())[:_MOST_RELATED]
    return Finding(symbol, site.module.path, span(site), tuple(details), confidence, kept)


def span(site: Site) -> Span:
    """The token to underline: of a call, up to the end of what is called; of a loop or an ``if``, its head."""
    node = site.node
    end: ast.AST = node
    match node:
        case (
            ast.Call(func=part)
            | ast.For(iter=part)
            | ast.AsyncFor(iter=part)
            | ast.While(test=part)
            | ast.If(test=part)
        ):
            end = part
    lines = site.module.lines()
    line, end_line = getattr(node, "lineno", 1), getattr(end, "end_lineno", 1) or 1
    return Span(
        line,
        _column(lines, line, getattr(node, "col_offset", 0)),
        end_line,
        _column(lines, end_line, getattr(end, "end_col_offset", 0) or 0),
    )


def _column(lines: list[bytes], line: int, offset: int) -> int:
    """A column in characters, from one in bytes of UTF-8."""
    text = lines[line - 1] if line <= len(lines) else b""
    return offset if text.isascii() else len(text[:offset].decode("utf-8", "replace"))


def place(site: Site | None, seen_from: Site) -> str:
    """How a message names another place: ``line 12``, or ``train.py:41`` in another file."""
    if site is None:
        return "elsewhere"
    if site.module.path == seen_from.module.path:
        return f"line {site.line}"
    return f"{site.module.display}:{site.line}"


def wrap_of(wrapper: Obj) -> Site | None:
    """Where a wrapper was made."""
    event = wrapper.notes.get("wrap")
    return event.site if isinstance(event, facts.Wrap) else wrapper.site


def wrapped_at(wrapper: Obj, seen_from: Site) -> str:
    """How a message names the place of a wrap."""
    return place(wrap_of(wrapper), seen_from)


def wrapped_here(wrapper: Obj) -> Other:
    """The place of a wrap, as one of a finding's others."""
    return wrap_of(wrapper), "the model is wrapped here"
