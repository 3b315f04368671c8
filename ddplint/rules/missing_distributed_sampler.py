"""ddp-missing-distributed-sampler: every rank trains on the whole dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import Path
from ddplint.engine.questions import Program, Training, divides, samplers, speaks_of_ranks
from ddplint.engine.values import Class, Lib, Obj, Site, Sym, one
from ddplint.findings import Finding
from ddplint.rules.base import Rule, finding, place, wrapped_at

SYMBOL = "ddp-missing-distributed-sampler"

_KNOW_NO_RANK = {
    "torch.utils.data.RandomSampler",
    "torch.utils.data.SequentialSampler",
    "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.BatchSampler",
}


def check(programs: Sequence[Program]) -> Iterator[Finding]:
    """Loaders that train and share nothing out among the ranks."""
    for program in programs:
        for training in program.training:
            loader = training.loader
            if id(loader) in program.escaped or loader.site is None:
                continue
            if not program.on_many_ranks(training.backward, training.path):
                continue
            order = _order_without_ranks(program, loader, training.path)
            if order is None:
                continue
            yield finding(
                SYMBOL,
                loader.site,
                (order, wrapped_at(training.wrapper, loader.site), place(training.backward.site, loader.site)),
                _evidence(training),
            )


def _evidence(training: Training) -> list[Site]:
    return [training.backward.site, *([training.wrapper.site] if training.wrapper.site else [])]


def _order_without_ranks(program: Program, loader: Obj, path: Path) -> str | None:
    """How the loader orders its samples, where nothing in it knows of ranks; None where something does or may."""
    if isinstance(loader.cls, Class) and (speaks_of_ranks(loader.cls) or loader.cls.opaque_base):
        return None
    if isinstance(loader.cls, Class) and divides(one(loader), path) is not False:
        return None
    if divides(loader.attrs.get("dataset"), path) is not False:
        return None
    found = "no sampler"
    for sampler, at in samplers(loader, path):
        if sampler is None:
            continue
        name = _knows_no_rank(sampler, at)
        if name is not None and isinstance(sampler, Obj) and sampler.notes.get("repeats draws"):
            if any(seed.generator is None and seed.seed.per_rank for seed in program.trace.of(facts.Seed)):
                return None
        if name is None:
            return None
        found = name
    return found


def _knows_no_rank(sampler: Obj | Sym, path: Path) -> str | None:
    if isinstance(sampler, Sym) or sampler.kind == "sampler" or sampler.notes.get("per_rank"):
        return None
    if isinstance(sampler.cls, Class):
        if speaks_of_ranks(sampler.cls) or sampler.cls.opaque_base or sampler.notes.get("given_rank"):
            return None
        args = sampler.notes.get("args")
        if args is not None and any(divides(value, path) is True for value in args.all()):
            return None
        return f"{sampler.cls.name}, which knows no rank"
    if isinstance(sampler.cls, Lib) and sampler.cls.name in _KNOW_NO_RANK:
        source = sampler.attrs.get("source")
        if source is not None and divides(source, path) is True:
            return None
        if source is not None and sampler.cls.name.endswith("SubsetRandomSampler") and source.per_rank:
            return None
        return f"{sampler.cls.name.rsplit('.', 1)[-1]}, which knows no rank"
    if sampler.kind in ("list", "tuple"):
        return None if divides(sampler.attrs.get("*"), path) else "a list of indices"
    return None


RULE = Rule(
    id="W7101",
    symbol=SYMBOL,
    message=(
        "This DataLoader has %s, and its batches train the DistributedDataParallel model wrapped at %s "
        "(backward at %s): every rank goes through the whole dataset in every epoch. "
        "Pass sampler=DistributedSampler(dataset) and leave shuffle out"
    ),
    description=(
        "A DataLoader whose batches train a DistributedDataParallel model does not share its samples out among the "
        "ranks. Each epoch then trains on every sample once per rank, on the same batches where the seeds agree, and "
        "the added processes do no added work. Give the loader sampler=DistributedSampler(dataset), and call "
        "sampler.set_epoch(epoch) in each epoch."
    ),
    check=check,
)
