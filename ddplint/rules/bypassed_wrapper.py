"""ddp-bypassed-wrapper: the loss comes from the model inside, and no gradient is averaged."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.bypassing import Bypassed
from ddplint.engine.placing import function_of, place_to_report, settled_chain
from ddplint.engine.questions import Program
from ddplint.engine.values import Site
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place, wrapped_at, wrapped_here
from ddplint.rules.wording import outer_of, spelled, target_of, written

SYMBOL = "ddp-bypassed-wrapper"


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Calls of a wrapped network whose loss trains it."""
    for program in programs:
        wrong = {
            found.call: found
            for found in program.bypassed
            if program.on_many_ranks(found.backward, found.path, together=True)
        }
        right = [
            forward
            for forward in program.trace.of(facts.Forward)
            if (forward.module.kind == "ddp" or not forward.grad) and any(forward.site == call.site for call in wrong)
        ]
        holders = {found.holder for found in wrong.values()}
        good = [
            settled_chain(_route(forward, next((site for site in forward.held if site in holders), None)))
            for forward in right
        ]
        told = set()
        for found in wrong.values():
            site = place_to_report(_route(found.call, found.holder), good)
            if site in told:
                continue
            told.add(site)
            called = site.node.func if isinstance(site.node, ast.Call) else None
            details = (
                spelled(called, "the model inside"),
                place(found.backward.site, site),
                place(found.step.site, site),
                wrapped_at(found.wrap.wrapper, site),
                _cure(found, site),
            )
            others = [
                (found.backward.site, "the backward that averages nothing is here"),
                (found.step.site, "the optimizer steps here"),
                wrapped_here(found.wrap.wrapper),
            ]
            yield finding(SYMBOL, site, details, others)


def _route(call: facts.Forward, holder: Site | None) -> tuple[Site, ...]:
    """The calls that lead to what is reported, and that itself: the call, or that of an object that holds the model."""
    route = (*call.chain, call.site)
    return route[: route.index(holder) + 1] if holder in route else route


def _cure(found: Bypassed, site: Site) -> str:
    """What to call in place of the model inside."""
    called = site.node.func if isinstance(site.node, ast.Call) else None
    name = None
    if called is not None and site == found.call.site:
        name = outer_of(called, site)
    if name is None:
        target = target_of(found.wrap.site)
        if target is not None and function_of(found.wrap.site) == function_of(site):
            name = written(target[0], "") or None
    if found.holder is not None:
        held = f"'{name}'" if name else "the wrapper"
        return f"Let it hold {held} in place of the model inside"
    wrapper = f"'{name}(...)'" if name else "the wrapper"
    method = found.call.method
    if method in ("", "forward", "__call__"):
        return f"Call {wrapper} instead"
    return f"Let the model's forward() call {method}(), and call {wrapper}"


RULE = Rule(
    id="W7112",
    symbol=SYMBOL,
    message=(
        "The loss comes from %s, past the wrapper, whose forward alone prepares the averaging of gradients: the "
        "backward at %s averages none, each rank steps on its own at %s (model wrapped at %s). %s"
    ),
    check=check,
)
