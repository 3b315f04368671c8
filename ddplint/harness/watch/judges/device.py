"""Whether a wrapped model was moved or cast so that its gradients are not reduced any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-wrap-before-move"


_WRAPPING = "in _wrap\n"  # the probe's own frame round the wrapper's constructor, in a traceback
_REFUSED = re.compile(
    r"No backend type associated with device type cpu|device_ids and output_device arguments only work with"
)


def refused(run: Run) -> list[Verdict]:
    """The wraps that torch refused because the model was on the CPU still."""
    parts = []
    for rank in run.ranks:
        for crash in rank.of("crash"):
            text = str(crash.get("text"))
            if _REFUSED.search(text) and _WRAPPING in str(crash.get("trace")):
                said = (
                    "DistributedDataParallel refuses this model, whose parameters are on the CPU while the process "
                    f"group or device_ids ask for CUDA: {text.partition(':')[0][:80]}. "
                    "Move the model first, then wrap it."
                )
                parts.append(Verdict(RULE, State.FOUND, said, sites(crash), (rank.number,), {"error": text[:300]}))
    return summed_up(RULE, parts, "") if parts else []


def judge(run: Run, _source: Source) -> list[Verdict]:
    """The wrappers whose parameters were replaced after the wrap and trained on without a reduce."""
    parts = [
        _judge_model(rank, model, wrap, fake_cuda=run.fake_cuda)
        for rank in run.ranks
        for model, wrap in rank.made("wrap").items()
    ]
    return summed_up(RULE, [*refused(run), *parts], "no model was wrapped")


def _judge_model(rank: Rank, model: int, wrap: Event, *, fake_cuda: bool) -> Verdict:
    stack = sites(wrap)
    moves = [event for event in rank.of("move") if event.get("model") == model]
    moved = next((event for event in moves if event.get("reset")), None)
    syncs, steps = _since(rank, model, moved or wrap)
    if moved is None:
        if not syncs:
            text = f"the model wrapped at {place_of(wrap)} was not trained"
            return Verdict(RULE, State.NOT_EXERCISED, text, stack, (rank.number,))
        if moves and not fake_cuda:
            text = (
                f"the move at {place_of(moves[0])}, after the wrap, changed nothing on this machine; "
                "--fake-cuda shows what it does where there is a GPU"
            )
            return Verdict(RULE, State.NOT_EXERCISED, text, stack, (rank.number,), {"syncs": syncs})
        text = "no wrapped model was moved or cast after the wrap in a way that replaces its gradient accumulators"
        return Verdict(RULE, State.CLEAN, text, stack, (rank.number,), {"syncs": syncs})
    moved_at = place_of(moved)
    numbers: dict[str, object] = {
        "reset": moved["reset"],
        "before": moved.get("before"),
        "after": moved.get("after"),
        "moved_at": moved_at,
        "steps_after": steps,
        "syncs_after": syncs,
    }
    if not steps and any(True for _ in rank.of("crash")):
        text = f"the script failed after the move at {moved_at} and before the next training step"
        return Verdict(RULE, State.NOT_EXERCISED, text, stack, (rank.number,), numbers)
    if not steps:
        text = f"the move at {moved_at} came after the last training step"
        return Verdict(RULE, State.CLEAN, text, stack, (rank.number,), numbers)
    if syncs:
        text = f"gradients were still reduced after the move at {moved_at}"
        return Verdict(RULE, State.CLEAN, text, stack, (rank.number,), numbers)
    text = (
        f"The model is moved or cast at {moved_at} after this wrap, which replaced the gradient accumulators of "
        f"{moved['reset']} parameters: in the {steps} optimizer steps after it no gradient was reduced, and the ranks "
        f"train apart. Move and cast the model first, then wrap it."
    )
    return Verdict(RULE, State.FOUND, text, stack, (rank.number,), numbers)


def _since(rank: Rank, model: int, start: Event) -> tuple[int, int]:
    """How often the wrapper's gradients were reduced after ``start``, and the steps for which they should have been.

    A step counts where a forward of the wrapper that asks for the reduce, and a backward, came before it.
    """
    syncs = steps = 0
    asked = went_back = False
    for event in rank.of("forward", "backward", "sync", "step"):
        if event["t"] < start["t"]:
            continue
        kind = event["ev"]
        if kind == "forward" and event.get("model") == model:
            asked |= bool(event.get("grad") and event.get("sync"))
        elif kind == "backward":
            went_back |= asked
        elif kind == "sync" and event.get("model") == model:
            syncs += 1
        elif kind == "step" and model in (event.get("models") or ()):
            steps += went_back
            asked = went_back = False
    return syncs, steps
