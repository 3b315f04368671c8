"""The rules' pages: their form, their examples, and the ways to read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ddplint

from ddplint.harness.prove.proofs import LEFT_OUT
from ddplint.pages import HEADINGS, page
from ddplint.rules import RULES, Rule

CASES = Path(__file__).parents[1] / "testdata" / "cases"
EXAMPLES = {case.name.partition("-")[0]: (case / "train.py").read_text() for case in CASES.glob("*-bad-page-example")}
FAMILIES = [next((name for name, code in EXAMPLES.items() if f"# [{rule.symbol}]" in code), "no") for rule in RULES]
EACH = pytest.mark.parametrize(("rule", "family"), list(zip(RULES, FAMILIES, strict=True)), ids=FAMILIES)


@EACH
def test_a_page_has_its_title_a_summary_and_the_headings_in_order(rule: Rule, family: str) -> None:
    about = page(rule.symbol)
    assert about.text.startswith(f"# {rule.symbol} ({rule.id})\n\n{about.summary}\n\n## ")
    assert re.fullmatch(r"[A-Z`][^\n]{20,110}\.", about.summary)
    assert tuple(about.sections) == HEADINGS
    assert all(about.sections.values())
    proof = about.sections["Proof"]
    shown = "`ddplint-run prove` cannot show it: " if rule.symbol in LEFT_OUT else f"`ddplint-run prove {rule.symbol}` "
    assert proof.startswith(shown)
    assert f"# pylint: disable={rule.symbol}\n" in about.sections["How to silence it"]
    assert "https://docs.pytorch.org/" in about.sections["References"]
    assert max(map(len, about.text.replace("](", "]\n(").splitlines())) <= 150


@EACH
@pytest.mark.parametrize(("heading", "kind"), [("Wrong", "bad"), ("Right", "ok")])
def test_the_examples_are_cases(rule: Rule, family: str, heading: str, kind: str) -> None:
    """Cases are judged by tests of their own: what a page calls wrong is reported, what it calls right is not."""
    code = (CASES / f"{family}-{kind}-page-example" / "train.py").read_text(encoding="utf-8")
    assert page(rule.symbol).sections[heading] == f"```python\n{code}```"
    assert (f"# [{rule.symbol}]" in code) == (kind == "bad")


@EACH
def test_explain_takes_the_symbol_or_the_id(rule: Rule, family: str, tmp_path: Path) -> None:
    for arguments in (["--explain", rule.symbol], [f"--explain={rule.id.lower()}"]):
        process = ddplint(*arguments, cwd=tmp_path)
        assert (process.returncode, process.stdout, process.stderr) == (0, page(rule.symbol).text, "")


@EACH
def test_help_msg_says_what_is_found_and_what_happens(rule: Rule, family: str, tmp_path: Path) -> None:
    said = " ".join(ddplint(f"--help-msg={rule.symbol}", cwd=tmp_path).stdout.split())
    assert " ".join(page(rule.symbol).description.split()) in said


def test_list_names_each_rule_on_a_line(tmp_path: Path) -> None:
    lines = ddplint("--list", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.id, rule.symbol] for rule in RULES]
    assert all(line.removesuffix(" (off by default)").endswith(".") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--explain", "ddp-missing"], "no rule is called ddp-missing; the rules: ddp-missing-distributed-sampler, "),
        (["--explain"], "--explain takes the name of a rule; the rules: ddp-missing-distributed-sampler, "),
    ],
)
def test_what_is_no_rule_is_told_in_a_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    process = ddplint(*arguments, cwd=tmp_path)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr.startswith(f"ddplint: {line}")
    assert process.stderr.count("\n") == 1
