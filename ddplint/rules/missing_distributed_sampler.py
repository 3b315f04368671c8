"""ddp-missing-distributed-sampler: every rank trains on the whole dataset."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddplint.engine import facts
from ddplint.engine.conditions import Path
from ddplint.engine.names import DISTRIBUTED_SAMPLER, asks_for_distribution
from ddplint.engine.placing import function_of
from ddplint.engine.questions import Program, Training
from ddplint.engine.sharing import divides, samplers, speaks_of_ranks
from ddplint.engine.values import NONE, Class, Lib, Obj, Site, Sym, one
from ddplint.findings import Finding
from ddplint.rules.base import Other, Rule, finding, place, wrapped_at, wrapped_here
from ddplint.rules.wording import argument, name_of, written

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
            if _is_plain_branch(training):
                continue
            passes = [each for each in program.trace.of(facts.Iterate) if each.loader is loader]
            if passes and not any(program.on_many_ranks(each) for each in passes):
                continue  # one rank alone goes through it
            order = _order_without_ranks(program, loader, training.path)
            if order is None:
                continue
            said, sampler = order
            where = wrapped_at(training.wrapper, loader.site), place(training.backward.site, loader.site)
            details = (said, *where, _cure(program, loader, loader.site, sampler))
            yield finding(SYMBOL, loader.site, details, _evidence(training))


def _is_plain_branch(training: Training) -> bool:
    """Whether the loader is made where a test says that nothing is shared, which the wrap does not ask."""
    wrapped = frozenset.union(*(case.facts for case in training.wrapper.path), frozenset())
    return all(any(asks_for_distribution(key.text) for key, _ in case.facts - wrapped) for case in training.loader.path)


def _evidence(training: Training) -> list[Other]:
    return [wrapped_here(training.wrapper), (training.backward.site, "the backward of its batches is here")]


def _order_without_ranks(program: Program, loader: Obj, path: Path) -> tuple[str, Obj | None] | None:
    """How the loader orders its samples, where nothing in it knows of ranks; None where something does or may.

    In words, and the sampler that does.
    """
    if isinstance(loader.cls, Class) and (speaks_of_ranks(loader.cls) or loader.cls.opaque_base):
        return None
    if isinstance(loader.cls, Class) and divides(one(loader), path) is not False:
        return None
    if divides(loader.attrs.get("dataset"), path) is not False:
        return None
    found, by = "no sampler", None
    for sampler, at in samplers(loader, path):
        if sampler is None:
            continue
        name = _knows_no_rank(sampler, at)
        if name is not None and isinstance(sampler, Obj) and sampler.notes.get("repeats draws"):
            if any(seed.generator is None and _by_rank(seed) for seed in program.trace.of(facts.Seed)):
                return None
        if name is None:
            return None
        found, by = name, sampler if isinstance(sampler, Obj) else None
    return found, by


def _by_rank(seed: facts.Seed) -> bool:
    return seed.seed is not None and seed.seed.per_rank


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


def _cure(program: Program, loader: Obj, site: Site, sampler: Obj | None) -> str:
    """What to write, for the kind of data set and of sampler at hand."""
    rank, size = (f"{name_of(f'torch.distributed.{name}', site)}()" for name in ("get_rank", "get_world_size"))
    where = "" if program.surely_joins else f" where {name_of('torch.distributed.is_initialized', site)}()"
    share = f"every {size}-th of {{}} from number {rank} on, as many as on the other ranks{{}}{where}"
    if any(isinstance(a, Obj) and _is_iterable(a.cls) for a in loader.attrs.get("dataset", NONE).atoms()):
        return f"Let the __iter__ of its dataset give {share.format('the samples', '')}"
    if sampler is not None and isinstance(sampler.cls, Class):
        seeded = ", shuffled by one seed on all ranks,"
        return f"Let {sampler.cls.name} give {share.format('its indices', seeded)}".rstrip(",")
    if sampler is not None and sampler.notes.get("repeats draws"):
        return f"Give its sampler the number of samples divided by {size}, and a generator seeded by {rank}{where}"
    if sampler is not None and sampler.kind in ("list", "tuple"):
        return f"Give it {share.format('them', '')}"
    return _pass_sampler(program, loader, site, sampler)


def _is_iterable(cls: Class | Lib | None) -> bool:
    return isinstance(cls, Class) and Lib("torch.utils.data.IterableDataset") in cls.mro()


def _pass_sampler(program: Program, loader: Obj, site: Site, sampler: Obj | None) -> str:
    """``DistributedSampler(dataset)`` in place of what orders the loader now."""
    dataset = written(argument(site, 0, "dataset"), "dataset")
    if sampler is not None and isinstance(sampler.cls, Lib) and sampler.cls.name.endswith("SubsetRandomSampler"):
        dataset = f"{name_of('torch.utils.data.Subset', site)}({dataset}, indices)"
    shuffle = argument(site, 2, "shuffle")
    literal = shuffle.value if isinstance(shuffle, ast.Constant) else None
    order = ""
    if shuffle is not None and literal is not True:
        order = f", shuffle={written(shuffle, 'shuffle')}"
    made = f"{name_of(DISTRIBUTED_SAMPLER, site)}({dataset}{order})"
    is_there = f"{name_of('torch.distributed.is_initialized', site)}()"
    batches = sampler is not None and "batch_sampler" in loader.attrs
    said = [f"Pass {'the batch sampler' if batches else 'sampler='}{' ' if batches else ''}{made}"]
    if not program.surely_joins:
        old = written(argument(site, 3, "sampler"), "None")
        said = [f"{said[0]} if {is_there} else {old}"]
        if shuffle is not None and literal is not False:
            both = "" if literal is True else f"{written(shuffle, 'shuffle')} and "
            said.append(f" with shuffle={both}not {is_there}")
    elif shuffle is not None:
        said.append(" in place of shuffle")
    joins = list(program.trace.of(facts.Join))
    if joins and all(_comes_first(loader, join) for join in joins):
        said.append(f", make the loader behind {name_of('torch.distributed', site)}.init_process_group")
    if literal is not False:
        said.append(", and call set_epoch(epoch) on it in each epoch")
    return "".join(said)


def _comes_first(loader: Obj, join: facts.Join) -> bool:
    """Whether the loader is made further up in the function that then joins the process group."""
    assert loader.site is not None
    for ours, other in zip((*loader.notes["chain"], loader.site), (*join.chain, join.site), strict=False):
        if ours != other:
            return function_of(ours) == function_of(other) and ours.line < other.line
    return False


RULE = Rule(
    id="W7101",
    symbol=SYMBOL,
    message=(
        "This DataLoader has %s, and its batches train the DistributedDataParallel model wrapped at %s "
        "(backward at %s): every rank goes through the whole dataset in every epoch. %s"
    ),
    check=check,
)
