"""What shows each mistake, in numbers: the same function is asked about the mistake and about its cure.

A mistake is shown when every number that can be wrong is wrong; a cure has ended it when none is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations
from math import hypot, isclose
from typing import TYPE_CHECKING

from ddplint.harness.prove.seen import difference

if TYPE_CHECKING:
    from ddplint.harness.prove.seen import Run

_ROUNDING = 1e-6  # what float32 parameters of these small models may differ by without a cause


@dataclass(frozen=True)
class Measure:
    """A number that was measured: ``value``, where it is a part, ``of`` so many.

    ``wrong`` tells whether it is evidence of the mistake; None for a number that only explains the others.
    """

    name: str
    label: str
    value: int | float
    of: int | None = None
    wrong: bool | None = None


def sampler(run: Run) -> list[Measure]:
    """Samples that several ranks trained on in one pass; the padding of an uneven last share is allowed."""
    by_pass = zip(*(seen.passes for seen in run.ranks))  # noqa: B905
    shares = [[set().union(*batches) for batches in passes] for passes in by_pass]
    owners = [Counter(number for share in by_rank for number in share) for by_rank in shares]
    shared = max((sum(count > 1 for count in counts.values()) for counts in owners), default=0)
    samples = max(map(len, owners), default=0)
    most = max((len(share) for by_rank in shares for share in by_rank), default=0)
    return [
        Measure("shared", "samples of one pass that several ranks got", shared, samples, shared >= len(run.ranks)),
        Measure("share", "samples of one pass that a rank got", most, samples),
    ]


def epoch(run: Run) -> list[Measure]:
    """Ranks that had the same samples in two passes, in the same order."""
    orders = [[list(chain(*batches)) for batches in seen.passes] for seen in run.ranks]
    ordered = sum(any(one == other for one, other in combinations(order, 2)) for order in orders)
    shared = sum(any(set(one) == set(other) for one, other in combinations(order, 2)) for order in orders)
    return [
        Measure("same_order", "ranks that got the same order in two epochs", ordered, len(run.ranks), ordered > 0),
        Measure("same_share", "ranks that got the same samples in two epochs", shared, len(run.ranks), shared > 0),
    ]


def wrapper(run: Run) -> list[Measure]:
    """Names of weights that the plain model does not know."""
    loaded = run.ranks[0].loaded
    if loaded is None:
        return []
    keys = Measure("prefixed", "keys that begin with 'module.'", loaded.prefixed, loaded.keys, loaded.prefixed > 0)
    refused = Measure(
        "refused", "load_state_dict of the plain model refuses them", loaded.refused, None, loaded.refused
    )
    changed, tensors = loaded.changed, loaded.tensors
    return [
        keys,
        refused,
        Measure("changed", "weights that strict=False loads, without an error", changed, tensors, changed < tensors),
    ]


def save(run: Run) -> list[Measure]:
    """Ranks that wrote one path, and files that did not hold what their writer had written."""
    writers = Counter(path for seen in run.ranks for path in {written.path for written in seen.written})
    written = [written for seen in run.ranks for written in seen.written]
    most = max(writers.values(), default=0)
    broken, refused = sum(not file.same for file in written), sum(not file.readable for file in written)
    return [
        Measure("writers", "ranks that wrote one path", most, len(run.ranks), most > 1),
        Measure("broken", "files that, read back at once, were not what was written", broken, len(written), broken > 0),
        Measure("unreadable", "files that torch.load then refused", refused, len(written)),
    ]


def device(run: Run) -> list[Measure]:
    """Gradients that are never averaged, so that the ranks drift apart."""
    steps = [step for seen in run.ranks for step in seen.steps]
    averaged = sum(step.syncs > 0 for step in steps)
    return [
        Measure("averaged", "optimizer steps with averaged gradients", averaged, len(steps), averaged == 0),
        _apart(run),
    ]


def accum(run: Run) -> list[Measure]:
    """Averaged gradients that no optimizer step needed."""
    steps = [step for seen in run.ranks for step in seen.steps]
    syncs = max((step.syncs for step in steps), default=0)
    batches = max((step.batches for step in steps), default=0)
    return [Measure("syncs", "micro-batches of a step that averaged the gradients", syncs, batches, syncs > 1)]


def drift(run: Run) -> list[Measure]:
    """Steps on gradients that are each rank's own, so that the ranks drift apart."""
    by_step = list(zip(*(seen.steps for seen in run.ranks)))  # noqa: B905
    own = sum(_furthest([step.gradients for step in steps]) > _ROUNDING for steps in by_step)
    return [
        Measure("own", "optimizer steps for which ranks had different gradients", own, len(by_step), own > 0),
        _apart(run),
    ]


def bypass(run: Run) -> list[Measure]:
    """Gradients that are never averaged, and what follows."""
    averaged, *_ = device(run)
    return [averaged, *drift(run)]


def collective(run: Run) -> list[Measure]:
    """Sums with a value in them that was meant for another one, and ranks that then lack a partner.

    Each line of the program sums once.
    """
    sums = [summed for seen in run.ranks for summed in seen.sums]
    meant = {line: sum(summed.gave for summed in sums if summed.line == line) for line in {one.line for one in sums}}
    got = [(summed.got, meant[summed.line]) for summed in sums if summed.got is not None]
    mixed = sum(not isclose(one, other, rel_tol=_ROUNDING) for one, other in got)
    return [
        Measure("mixed", "sums that hold what another line's call gave", mixed, len(got), mixed > 0),
        *_waiting(run),
    ]


def split(run: Run) -> list[Measure]:
    """Samples that have several owners, or are trained on here and held back there."""
    owned, _ = sampler(run)
    trained = set().union(*(batch for seen in run.ranks for batch in chain(*seen.passes)))
    held = set().union(*(batch for seen in run.ranks for batch in chain(*seen.checks)))
    spoilt = len(held & trained)
    return [
        owned,
        Measure("spoilt", "samples held back for validation that were trained on", spoilt, len(held), spoilt > 0),
    ]


def exit_(run: Run) -> list[Measure]:
    """Ranks that wait for one that has left."""
    batches = [sum(map(len, seen.passes)) for seen in run.ranks]
    least, most = min(batches), max(batches)
    return [
        Measure("least", "batches of the rank that left first", least, most, least < most),
        *_waiting(run),
    ]


def race(run: Run) -> list[Measure]:
    """Ranks that read what the file held before, and go on with other weights."""
    writer = next((seen for seen in run.ranks if seen.written), None)
    if writer is None:
        return []
    stale = sum(seen.read != writer.read for seen in run.ranks)
    return [
        Measure("stale", "ranks that read something else than the writer", stale, len(run.ranks), stale > 0),
        _apart(run),
    ]


def noautograd(run: Run) -> list[Measure]:
    """The size of the gradients, against that of one process."""
    if run.alone is None:
        return []
    trained, alone = (hypot(*seen.steps[0].gradients) for seen in (run.ranks[0], run.alone))
    part = round(100 * trained / alone)
    warned = sum(seen.warned for seen in run.ranks)
    return [
        Measure("size", "first gradient, in percent of that of one process", part, None, part != 100),
        Measure("warned", "ranks on which torch warned of the collective", warned, len(run.ranks)),
    ]


def _apart(run: Run) -> Measure:
    apart = max(difference(run.ranks[0].parameters, seen.parameters) for seen in run.ranks)
    return Measure("apart", "difference between the parameters of ranks", apart, None, apart > _ROUNDING)


def _waiting(run: Run) -> list[Measure]:
    lines = [seen.waited for seen in run.ranks if seen.waited is not None]
    waited = Measure("waited", "ranks that waited in vain", len(lines), len(run.ranks), bool(lines))
    return [waited, Measure("line", "line in which they waited", lines[0])] if lines else [waited]


def _furthest(vectors: list[list[float]]) -> float:
    """The largest difference between a number of the first vector and its like in another one."""
    first, *others = vectors
    return max((abs(one - other) for vector in others for one, other in zip(first, vector, strict=True)), default=0.0)
