"""ddp-rank-local-exit: a rank leaves the training by a decision of its own, and the others wait for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine.leaving import Parting, partings
from ddplint.engine.questions import Program
from ddplint.engine.values import Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place

SYMBOL = "ddp-rank-local-exit"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Statements by which some ranks leave the loop that trains."""
    for program in programs:
        if not program.wraps or not program.joins_ranks:
            continue
        found: set[Site] = set()
        for parting in partings(program):
            if parting.site not in found:
                found.add(parting.site)
                yield _finding(program, parting)


def _finding(program: Program, parting: Parting) -> Finding:
    site, backward, wrap = parting.site, parting.missed.site, program.wraps[0].site
    node = site.node
    said = "Whether this backward is made" if isinstance(node, ast.If) else f"This '{type(node).__name__.lower()}'"
    cure = "Let every rank decide alike: reduce or broadcast what is asked first"
    details = (said, parting.why, place(backward, site), place(wrap, site), cure)
    others = [(backward, "the backward that the others wait in is here"), (wrap, "the model is wrapped here")]
    return finding(SYMBOL, site, details, others, branch=True)


RULE = Rule(
    id="W7115",
    symbol=SYMBOL,
    message=(
        "%s is decided by %s, so that some ranks may do it alone. The others then wait for ever in their next backward "
        "(%s, wrapped at %s). %s"
    ),
    check=check,
)
