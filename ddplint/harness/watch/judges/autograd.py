"""Whether a backward went through the result of an all_reduce, which gives no gradient back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.source import Source

RULE = "ddp-collective-in-loss"


def judge(run: Run, _source: Source) -> list[Verdict]:
    """The all_reduce calls whose result was divided by the world size, or bent, on its way to a backward."""
    parts = [part for rank in run.ranks for part in _judge_rank(rank)]
    return summed_up(RULE, parts, "no all_reduce was seen")


def _judge_rank(rank: Rank) -> list[Verdict]:
    reduced = {event.get("number"): event for event in rank.of("collective") if event.get("op") == "all_reduce"}
    parts = []
    wrong = set()
    for backward in rank.of("backward_begun"):
        for number, way in backward.get("scaled") or ():
            event = reduced.get(number)
            if event is None:
                continue
            wrong.add(number)
            how = way if way.startswith("divided") else f"given to {way}()"
            text = (
                f"This all_reduce writes the sum of all ranks into a tensor that the backward at {place_of(backward)} "
                f"goes through, and the sum is {how}: autograd does not know of the collective, so each rank's "
                "gradients are not those of its loss. Reduce a copy for the log, loss.detach().clone(), and call "
                "backward() on the loss itself."
            )
            evidence: dict[str, object] = {"backward_at": place_of(backward), "how": way}
            parts.append(Verdict(RULE, State.FOUND, text, sites(event), (rank.number,), evidence))
    right = "what an all_reduce wrote took part in no backward, or as a bare sum, whose gradient is right"
    for number, event in reduced.items():
        if number not in wrong:
            parts.append(Verdict(RULE, State.CLEAN, right, sites(event), (rank.number,)))
    return parts
