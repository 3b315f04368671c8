"""ddp-unsynchronized-step: the optimizer steps on gradients that were not averaged over the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.placing import places_to_report, where_entered
from ddplint.engine.questions import Program
from ddplint.engine.spent import Spent
from ddplint.engine.syncing import FLAG, Unsynchronized
from ddplint.engine.values import Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place, wrapped_at, wrapped_here
from ddplint.rules.wording import written

SYMBOL = "ddp-unsynchronized-step"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Steps after a backward that reduced nothing."""
    for program in programs:
        told = set()
        for found in program.unsynchronized:
            site = _place(found)
            if site in told or not program.on_many_ranks(found.backward, together=True):
                continue
            told.add(site)
            details = (
                place(found.step.site, site),
                place(found.backward.site, site),
                wrapped_at(found.wrapper, site),
                _cure(found, site),
            )
            others = [
                (found.step.site, "the optimizer steps here"),
                (found.forward.site, "the forward that prepares no averaging is here"),
                (found.backward.site, "the backward that averages nothing is here"),
                wrapped_here(found.wrapper),
            ]
            yield finding(SYMBOL, site, details, others, branch=True)
        yield from _second_backwards(program)


def _second_backwards(program: Program) -> Iterator[Finding]:
    """Backwards for which an earlier one left no reduction."""
    wrong: dict[facts.Event, Spent] = {}
    for found in program.spent:
        if program.on_many_ranks(found.backward, found.path, together=True):
            wrong.setdefault(found.backward, found)
    right = [backward for backward in program.trace.of(facts.Backward) if backward not in wrong]
    for site, event in places_to_report(wrong, right):
        found = wrong[event]
        first = "in the round before" if found.first is found.backward else f"at {place(found.first.site, site)}"
        details = (
            place(found.step.site, site),
            place(found.backward.site, site),
            wrapped_at(found.wrapper, site),
            f"The backward {first} used up the averaging that the forward at {place(found.forward.site, site)} "
            "prepared. Back-propagate the sum of the losses once, or call the wrapper again before each backward",
        )
        others = [
            (found.step.site, "the optimizer steps here"),
            (found.forward.site, "the forward that prepares one averaging is here"),
            (found.first.site, "the backward that uses it up is here"),
            wrapped_here(found.wrapper),
        ]
        yield finding(SYMBOL, site, details, others)


def _place(found: Unsynchronized) -> Site:
    """Where ``no_sync`` is taken, or the flag set: of a project's own context manager, that is its call."""
    return where_entered(found.cause, found.backward) if isinstance(found.cause, facts.NoSync) else found.cause.site


def _cure(found: Unsynchronized, site: Site) -> str:
    """What to do instead, in a few words."""
    if isinstance(found.cause, facts.NoSync):
        return "Take no_sync() only for micro-batches after which no step comes"
    flag = f"'{_flag(site)}'"
    return f"Set {flag} before the forward" if found.late else f"Set {flag} to True for the micro-batch that steps"


def _flag(site: Site) -> str:
    """How the file spells the flag."""
    node = site.node
    targets = node.targets if isinstance(node, ast.Assign) else [node]
    owner = targets[0].value if isinstance(targets[0], ast.Attribute) else None
    return f"{written(owner, 'model')}.{FLAG}"


RULE = Rule(
    id="W7111",
    symbol=SYMBOL,
    message=(
        "The optimizer steps at %s on gradients that were not averaged over the ranks (backward at %s, model wrapped "
        "at %s), so the replicas drift apart. %s"
    ),
    check=check,
)
