"""The parts of README.md that are made by running ddplint.

``python tests/readme.py`` rewrites them; the tests compare.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ddplint.pages import page
from ddplint.rules import RULES
from ddplint.rules.base import Rule

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DDPLINT = [sys.executable, "-m", "ddplint"]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_RULES = re.compile(r"(?<=<!-- rules: written by tests/readme.py -->\n).*?(?=<!-- end of rules -->)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the comment right before it (``file: NAME``, ``output: COMMAND``, ``run``)."""

    note: str
    language: str
    text: str


def blocks(readme: str) -> list[Block]:
    return [Block(m["note"] or "", m["language"], m["text"]) for m in _BLOCK.finditer(readme)]


def lay_out(readme: str, folder: Path) -> None:
    """Write the files that the README shows into ``folder``."""
    for block in blocks(readme):
        kind, _, name = block.note.partition(": ")
        if kind == "file":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block.text, encoding="utf-8")


def _off(rule: Rule) -> str:
    return "" if rule.default_enabled else ", off by default"


def rules_table() -> str:
    """A row for each rule: its page, and what its page's example is told."""
    names = [case.name for case in sorted((ROOT / "testdata" / "cases").glob("*-bad-page-example"))]
    command = [*DDPLINT, "--output-format=json2", *(f"--enable={rule.symbol}" for rule in RULES), *names]
    with tempfile.TemporaryDirectory() as folder:
        # Each case is a repository of its own.
        for name in names:
            copy = Path(folder, name)
            shutil.copytree(ROOT / "testdata" / "cases" / name, copy)
            (copy / ".git").mkdir()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = {
        message["symbol"]: message["message"].replace("|", chr(92) + "|")
        for message in json.loads(done.stdout)["messages"]
    }
    rows = [
        f"| [`{rule.symbol}`](ddplint/pages/{rule.symbol}.md)<br>{rule.id}{_off(rule)} "
        f"| {page(rule.symbol).summary} | {said[rule.symbol]} |"
        for rule in RULES
    ]
    return "\n".join(["", "| rule | what it finds | what it says |", "|---|---|---|", *rows, "", ""])


def rewritten(readme: str) -> str:
    """``readme`` with its table and its outputs made anew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(readme, folder)
        (folder / "pyproject.toml").unlink()

        def output(match: re.Match[str]) -> str:
            kind, _, command = (match["note"] or "").partition(": ")
            if kind != "output":
                return match[0]
            arguments = command.split()[1:]
            done = subprocess.run([*DDPLINT, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            return f"<!-- {match['note']} -->\n```text\n{done.stdout}```"

        readme = _BLOCK.sub(output, readme)
    return _RULES.sub(lambda _: rules_table(), readme)


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
