"""Whether an optimizer stepped on gradients that the wrapper was kept from averaging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.averaging import Unaveraged, unaveraged
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.averaging import Forward
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-unsynchronized-step"


def judge(run: Run, source: Source) -> list[Verdict]:
    """Where the averaging was held back before a step, and the second backwards of one forward."""
    parts = []
    for (stack, _), found in unaveraged(run).items():
        wrong = [verdict for one in found if not one.bypasses if (verdict := _judge(one, source)) is not None]
        parts += wrong
        if not wrong:
            wrapped_at = stack[0] if stack else "a place out of sight"
            text = f"the gradients of the model wrapped at {wrapped_at} were averaged, or equal, at each step"
            parts.append(Verdict(RULE, State.CLEAN, text))
    return summed_up(RULE, parts, "no optimizer step was seen that used a wrapped model's gradients")


def _judge(one: Unaveraged, source: Source) -> Verdict | None:
    step_at, backward_at = place_of(one.step.event), place_of(one.last.backward)
    evidence: dict[str, object] = {"step_at": step_at, "backward_at": backward_at}
    harm = (
        f"the step at {step_at} used gradients that were not averaged and differed between the ranks, "
        "which train apart from then on"
    )
    if one.is_second:
        text = (
            f"This backward goes again through a forward that another backward went through before, and only the first "
            f"is averaged: {harm}. Add the losses up and call backward() once."
        )
        return Verdict(RULE, State.FOUND, text, sites(one.last.backward), (one.rank,), evidence)
    forward = one.last.forwards[-1]
    if forward.prepares:
        return None  # it was to be averaged: what kept it from that was not seen
    if forward.silence is not None:
        text = (
            f"no_sync() stands here over the forward of the last micro-batch before a step: {harm}. "
            "Take it for every micro-batch but the one that steps."
        )
        stack = tuple(forward.silence.get("taken") or sites(forward.silence))
        return Verdict(RULE, State.FOUND, text, stack, (one.rank,), evidence)
    text = (
        f"require_backward_grad_sync was False in the forward of the last micro-batch before a step: {harm}. "
        "Set it to True before the forward of the micro-batch that steps."
    )
    return Verdict(RULE, State.FOUND, text, _flag(forward, one.last.backward, source), (one.rank,), evidence)


def _flag(forward: Forward, backward: Event, source: Source) -> tuple[str, ...]:
    """Where the flag is set, as far as the text of the functions that lead to the forward and the backward shows it."""
    for stack in (sites(backward), sites(forward.event)):
        for at, site in enumerate(stack):
            if (assigned := source.assigned_before(site, "require_backward_grad_sync")) is not None:
                return (assigned, *stack[at + 1 :])
    stack = sites(backward)
    block = source.block_around(stack[0]) if stack else None
    return (block, *stack) if block else stack
