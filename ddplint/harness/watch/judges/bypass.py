"""Whether a loss that trained came from the wrapped module, past the wrapper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.averaging import Unaveraged, unaveraged
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.observed import Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-bypassed-wrapper"


def judge(run: Run, source: Source) -> list[Verdict]:
    """The calls of a wrapped module that gave the gradients of a step, which were averaged by nothing."""
    parts = []
    for (stack, _), found in unaveraged(run).items():
        past = [one for one in found if one.bypasses]
        parts += [_found(one, source) for one in past]
        if not past:
            wrapped_at = stack[0] if stack else "a place out of sight"
            text = f"what trained the model wrapped at {wrapped_at} came from the wrapper, or was averaged otherwise"
            parts.append(Verdict(RULE, State.CLEAN, text))
    return summed_up(RULE, parts, "no optimizer step was seen that used a wrapped model's gradients")


def _found(one: Unaveraged, source: Source) -> Verdict:
    stack = sites(one.last.inner[0]) if one.last.inner else source.call_past_wrapper(sites(one.last.backward))
    what = "This call goes" if stack else "The loss of this backward goes"
    stack = stack or sites(one.last.backward)
    text = (
        f"{what} to the model inside the wrapper, and no forward of the wrapper prepared the backward at "
        f"{place_of(one.last.backward)}: the step at {place_of(one.step.event)} used gradients that no rank averaged "
        "and that differed between the ranks, which train apart from then on. Call the wrapper itself."
    )
    evidence: dict[str, object] = {
        "backward_at": place_of(one.last.backward),
        "step_at": place_of(one.step.event),
        "calls": len(one.last.inner),
    }
    return Verdict(RULE, State.FOUND, text, stack, (one.rank,), evidence)
