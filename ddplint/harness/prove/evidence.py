"""What shows each mistake, in numbers: the same function is asked about the mistake and about its cure.

A mistake is shown when every number that can be wrong is wrong; a cure has ended it when none is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations
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
    shares = [[set().union(*batches) for batches in passes] for passes in zip(*(seen.passes for seen in run))]  # noqa: B905
    owners = [Counter(number for share in by_rank for number in share) for by_rank in shares]
    shared = max((sum(count > 1 for count in counts.values()) for counts in owners), default=0)
    samples = max(map(len, owners), default=0)
    most = max((len(share) for by_rank in shares for share in by_rank), default=0)
    return [
        Measure("shared", "samples of one pass that several ranks got", shared, samples, shared >= len(run)),
        Measure("share", "samples of one pass that a rank got", most, samples),
    ]


def epoch(run: Run) -> list[Measure]:
    """Ranks that had the same samples in two passes, in the same order."""
    orders = [[list(chain(*batches)) for batches in seen.passes] for seen in run]
    ordered = sum(any(one == other for one, other in combinations(order, 2)) for order in orders)
    shared = sum(any(set(one) == set(other) for one, other in combinations(order, 2)) for order in orders)
    return [
        Measure("same_order", "ranks that got the same order in two epochs", ordered, len(run), ordered > 0),
        Measure("same_share", "ranks that got the same samples in two epochs", shared, len(run), shared > 0),
    ]


def wrapper(run: Run) -> list[Measure]:
    """Names of weights that the plain model does not know."""
    loaded = run[0].loaded
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
    writers = Counter(path for seen in run for path in {written.path for written in seen.written})
    written = [written for seen in run for written in seen.written]
    most = max(writers.values(), default=0)
    broken, refused = sum(not file.same for file in written), sum(not file.readable for file in written)
    return [
        Measure("writers", "ranks that wrote one path", most, len(run), most > 1),
        Measure("broken", "files that, read back at once, were not what was written", broken, len(written), broken > 0),
        Measure("unreadable", "files that torch.load then refused", refused, len(written)),
    ]


def device(run: Run) -> list[Measure]:
    """Gradients that are never averaged, so that the ranks drift apart."""
    steps = [step for seen in run for step in seen.steps]
    averaged = sum(step.syncs > 0 for step in steps)
    apart = max((difference(run[0].parameters, seen.parameters) for seen in run), default=0.0)
    return [
        Measure("averaged", "optimizer steps with averaged gradients", averaged, len(steps), averaged == 0),
        Measure("apart", "difference between the parameters of ranks", apart, None, apart > _ROUNDING),
    ]


def accum(run: Run) -> list[Measure]:
    """Averaged gradients that no optimizer step needed."""
    steps = [step for seen in run for step in seen.steps]
    syncs = max((step.syncs for step in steps), default=0)
    batches = max((step.batches for step in steps), default=0)
    return [Measure("syncs", "micro-batches of a step that averaged the gradients", syncs, batches, syncs > 1)]
