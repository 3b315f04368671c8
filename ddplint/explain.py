"""``ddplint --list`` and ``ddplint --explain RULE``: what is said about the rules, without linting."""

from __future__ import annotations

import importlib.util
import os
import sys

from ddplint.pages import page
from ddplint.rules import RULES, Rule
from ddplint.screen import is_terminal, put

_USAGE = 32
_EXPLAIN = "--explain"


def asked(arguments: list[str]) -> bool:
    """Whether the command line ``arguments`` ask for the list or for a page."""
    return any(argument in ("--list", _EXPLAIN) or argument.startswith(f"{_EXPLAIN}=") for argument in arguments)


def answer(arguments: list[str]) -> int:
    """Print what the command line ``arguments`` ask for and return the exit status."""
    if "--list" in arguments:
        return put("".join(map(_line, RULES)))
    return _explain([name for argument in arguments for name in _names(argument)])


def _line(rule: Rule) -> str:
    off = "" if rule.default_enabled else " (off by default)"
    return f"{rule.id}  {rule.symbol:<31}  {page(rule.symbol).summary.replace('`', '')}{off}\n"


def _names(argument: str) -> list[str]:
    value = argument.removeprefix(f"{_EXPLAIN}=") if argument.startswith(_EXPLAIN) else argument
    return [] if value.startswith("-") else [name.strip() for name in value.split(",") if name.strip()]


def _explain(names: list[str]) -> int:
    by_name = {name: rule.symbol for rule in RULES for name in (rule.symbol, rule.id.lower())}
    unknown = [name for name in names if name.lower() not in by_name]
    if unknown or not names:
        what = f"no rule is called {unknown[0]}" if unknown else f"{_EXPLAIN} takes the name of a rule"
        print(f"ddplint: {what}; the rules: {', '.join(rule.symbol for rule in RULES)}", file=sys.stderr)
        return _USAGE
    return put(_laid_out("\n".join(page(by_name[name.lower()]).text for name in names)))


def _laid_out(text: str) -> str:
    """Markdown as a terminal shows it, where rich is installed; as it stands elsewhere."""
    if not is_terminal(sys.stdout) or importlib.util.find_spec("rich") is None:
        return text
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=min(Console().width, 120), no_color=bool(os.environ.get("NO_COLOR")))
    if not console.encoding.startswith("utf"):
        return text  # it draws with characters that cannot be shown
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get()
