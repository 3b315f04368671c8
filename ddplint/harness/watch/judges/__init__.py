"""The judges: pure functions from what a run's ranks did to verdicts, one module a rule."""

from __future__ import annotations

from ddplint.harness.watch.judges import (
    accum,
    autograd,
    bypass,
    collective,
    device,
    drift,
    epoch,
    leaving,
    race,
    sampler,
    save,
    split,
    wrapper,
)
from ddplint.harness.watch.observed import Run, observe
from ddplint.harness.watch.source import Source
from ddplint.harness.watch.verdict import State, Verdict

_DATA = {"data", "DataLoader", "_BaseDataLoaderIter", "DistributedSampler", "steps", "Tensor", "wrapper"}
_REDUCTIONS = {"wrapper", "DistributedDataParallel", "hooks", "steps", "Tensor"}
_JUDGES = {
    sampler.RULE: (sampler.judge, _DATA),
    epoch.RULE: (epoch.judge, _DATA),
    wrapper.RULE: (wrapper.judge, {"states", "wrapper", "DistributedDataParallel"}),
    save.RULE: (save.judge, {"states", "files"}),
    device.RULE: (device.judge, {*_REDUCTIONS, "Module"}),
    accum.RULE: (accum.judge, _REDUCTIONS),
    drift.RULE: (drift.judge, _REDUCTIONS),
    bypass.RULE: (bypass.judge, _REDUCTIONS),
    collective.RULE: (collective.judge, {*_REDUCTIONS, "collectives"}),
    split.RULE: (split.judge, {*_DATA, "draws"}),
    leaving.RULE: (leaving.judge, {*_REDUCTIONS, "collectives", "data"}),
    autograd.RULE: (autograd.judge, {"steps", "Tensor", "collectives"}),
    race.RULE: (race.judge, {*_REDUCTIONS, "collectives", "files", "states"}),
}
"""Each rule's judge, and the parts of the probe that it depends on, by their first names."""

RULES = tuple(_JUDGES)


def verdicts(run: Run, source: Source | None = None) -> list[Verdict]:
    """What ``run`` shows for each rule, in the rules' order; several where a rule found several mistakes.

    ``source`` answers questions about the text of the watched program; that of the files on disk by default.
    """
    drawback = run.drawback()
    if drawback is not None:
        idle = [Verdict(rule, State.NOT_EXERCISED, drawback) for rule in RULES if rule != device.RULE]
        refused = device.refused(run) or [Verdict(device.RULE, State.NOT_EXERCISED, drawback)]
        return sorted([*idle, *refused], key=lambda verdict: RULES.index(verdict.rule))
    source = source or Source()
    found = []
    for rule, (judge, needs) in _JUDGES.items():
        unseen = [name for name in run.unseen if name.partition(".")[0] in needs]
        for verdict in judge(run, source):
            if unseen and verdict.state is not State.FOUND:
                text = f"part of what this needs could not be observed with this torch: {', '.join(unseen)}"
                verdict = Verdict(rule, State.CANNOT_JUDGE, text)  # noqa: PLW2901
            found.append(verdict)
    return found


__all__ = ["RULES", "Run", "observe", "verdicts"]
