"""Whether gradients that are accumulated over several micro-batches were reduced more than once for a step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ddplint.harness.watch.averaging import unaveraged
from ddplint.harness.watch.observed import place_of, shared_start, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up
from ddplint.harness.watch.windows import Window, windows

if TYPE_CHECKING:
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-wasted-gradient-sync"


def judge(run: Run, source: Source) -> list[Verdict]:
    """The backwards that reduced a wrapper's gradients several times for one optimizer step.

    A loop that steps on gradients that were not averaged has another mistake, which is told alone.
    """
    unsynchronized = {place for place, steps in unaveraged(run).items() if not all(step.bypasses for step in steps)}
    parts = [
        _judge_model(rank, [*map(_before_step, windows(rank, model))], source)
        for rank in run.ranks
        for model in rank.made("wrap")
        if rank.place("wrap", model) not in unsynchronized
    ]
    if not parts and unsynchronized:
        text = "the steps used gradients that were not averaged: that is to be mended first"
        return [Verdict(RULE, State.CANNOT_JUDGE, text)]
    return summed_up(RULE, parts, "no optimizer step was seen that holds a wrapped model")


def _judge_model(rank: Rank, seen: list[Window], source: Source) -> Verdict:
    repeating = [window for window in seen if _repeats(window)]
    if not repeating:
        text = "each optimizer step had one micro-batch; gradients were not accumulated in this run"
        if not seen:
            text = "no optimizer step was seen that holds a wrapped model"
        return Verdict(RULE, State.NOT_EXERCISED, text, (), (rank.number,), {"steps": len(seen)})
    wasted = [window for window in repeating if window.syncs > 1]
    pairs, syncs = max((len(window.pairs), window.syncs) for window in wasted or repeating)
    numbers: dict[str, object] = {
        "steps": len(seen),
        "micro_batches": pairs,
        "syncs": syncs,
        "wasteful_steps": len(wasted),
    }
    if not wasted:
        stack = sites(repeating[0].pairs[0].backward)
        text = f"{pairs} micro-batches for a step cost {syncs} reduce{'' if syncs == 1 else 's'}"
        return Verdict(RULE, State.CLEAN, text, stack, (rank.number,), numbers)
    window = wasted[0]
    step_at = place_of(window.step)
    numbers["step_at"] = step_at
    silence = _silence_that_misses(window)
    if silence is not None:
        text = (
            f"This no_sync() stands over the backward and misses the forward, which decides: {syncs} reduces for the "
            f"{pairs} micro-batches of a step at {step_at}, where one is enough. "
            "Put the forward and the backward of every micro-batch but the last under it."
        )
        return Verdict(RULE, State.FOUND, text, silence, (rank.number,), numbers)
    late = next((pair for pair in window.pairs if pair.is_late and pair.syncs), None)
    if late is not None:
        stack = sites(late.backward)
        block = source.block_around(stack[0]) if stack else None
        text = (
            f"Reduces are held back after the forward here, which decides: {syncs} reduces for the {pairs} "
            f"micro-batches of a step at {step_at}, where one is enough. "
            "Set require_backward_grad_sync before the forward of each micro-batch."
        )
        return Verdict(RULE, State.FOUND, text, (block, *stack) if block else stack, (rank.number,), numbers)
    text = (
        f"Each backward of an accumulation reduces the gradients: {syncs} reduces for the {pairs} micro-batches of a "
        f"step at {step_at}, where one is enough. "
        "Run the forward and the backward of every micro-batch but the last under 'with model.no_sync():'."
    )
    return Verdict(RULE, State.FOUND, text, _deciding(window, source), (rank.number,), numbers)


def _before_step(window: Window) -> Window:
    """``window`` without what ran in the step itself: an optimizer that evaluates a closure uses each gradient."""
    return replace(window, pairs=[pair for pair in window.pairs if not pair.backward.get("stepping")])


def _repeats(window: Window) -> bool:
    """Whether one call of ``backward`` ran more than once for the step; a GAN's real and fake are two calls."""
    calls = Counter(sites(pair.backward) for pair in window.pairs if pair.forwards)
    return any(count > 1 for count in calls.values())


def _silence_that_misses(window: Window) -> tuple[str, ...] | None:
    """Where a ``no_sync`` was entered that a backward ran in whose forward did not, and which so changed nothing."""
    for pair in window.pairs:
        if pair.syncs and pair.silences and any(forward.get("sync") for forward in pair.forwards):
            return tuple(pair.silences[-1].get("taken") or sites(pair.silences[-1]))
    return None


def _deciding(window: Window, source: Source) -> tuple[str, ...]:
    """The stack of the backward from the function on that decides on the step, or that holds the micro-batches' loop.

    The two stacks part in the function that leads to both. Below it, a helper may hold the loop; and it may only do
    what its caller tells it.
    """
    calls = Counter(sites(pair.backward) for pair in window.pairs if pair.forwards)
    stack = calls.most_common(1)[0][0]
    if not stack:
        return stack
    step = sites(window.step)
    shared = shared_start(stack[::-1], step[::-1])
    parting = max(len(stack) - shared - 1, 0)
    looped = [at for at in range(parting) if source.is_in_loop(stack[at])]
    if looped:
        return stack[looped[-1] :]
    while shared and len(step) > shared and source.is_told(step[-shared - 1]):
        shared, parting = shared - 1, parting + 1
    return stack[parting:]
