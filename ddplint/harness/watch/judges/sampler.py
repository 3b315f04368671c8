"""Whether the ranks shared the samples out among them: no two may train on the same row in one pass."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ddplint.harness.watch import orders
from ddplint.harness.watch.judges.split import RULE as SPLIT
from ddplint.harness.watch.judges.split import by_loader
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.passes import Pass, forward_rows, hashable, training_passes
from ddplint.harness.watch.sharing import has_one_data_set, matched, varies
from ddplint.harness.watch.verdict import State, Verdict, listed, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.orders import Orders
    from ddplint.harness.watch.source import Source

RULE = "ddp-missing-distributed-sampler"

_MOST = 0.75  # of the rows that were read; of two ranks, each would be given half
_CURE = "Give the DataLoader sampler=DistributedSampler(dataset) in place of shuffle"


def judge(run: Run, _source: Source) -> list[Verdict]:
    """The loaders whose training passes share rows between ranks; without a training loader, the wrapper's inputs."""
    passes = {rank.number: training_passes(rank) for rank in run.ranks}
    if not any(passes.values()):
        return _judge_inputs(run)
    trained = matched(run, passes)
    parts = []
    split = by_loader(run)
    for place, made, by_rank in trained:
        told = split.get(place)
        if told is not None and told.state in (State.FOUND, State.CANNOT_JUDGE):
            text = f"what the ranks share out of the DataLoader of {place_of(made)} overlaps: {SPLIT} tells why"
            parts.append(Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank)))
            continue
        if len(by_rank) < 2:
            text = f"the DataLoader of {place_of(made)} trained on rank {listed(sorted(by_rank))} alone"
            parts.append(Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank)))
            continue
        unstable, alike = varies(by_rank), has_one_data_set(by_rank)
        rounds = [
            _compare(made, {rank: found[at] for rank, found in by_rank.items()}, unstable, alike)
            for at in range(min(map(len, by_rank.values())))
        ]
        parts.extend(_worst(rounds))
    return summed_up(RULE, parts, "no DataLoader was iterated for training")


def _worst(rounds: list[Verdict]) -> list[Verdict]:
    """Of the verdicts on a loader's passes, the first mistake; else all."""
    return next(([one] for one in rounds if one.state is State.FOUND), rounds)


def _compare(made: Event, by_rank: dict[int, Pass], varies: bool, one_data_set: bool | None) -> Verdict:
    """What one pass over a loader shows on the ranks."""
    rows: Orders = {rank: order for rank, one in by_rank.items() if (order := one.rows())}
    indices: Orders = {rank: order for rank, one in by_rank.items() if (order := one.indices())}
    has_rows, has_indices = len(rows) == len(by_rank), len(indices) == len(by_rank)
    if has_indices and not orders.overlap(indices) and (varies or not has_rows or not orders.overlap(rows)):
        return _clean(made, indices)
    if varies or not has_rows:
        reason = "its rows differ each time they are read" if varies else "its rows could not be told apart"
        text = f"what the ranks read from the DataLoader of {place_of(made)} cannot be compared: {reason}"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank), orders.numbers(indices or rows))
    if not orders.overlap(rows) and not orders.tell_little(rows):
        return _clean(made, rows)
    if orders.are_ambiguous(rows, indices if has_indices else None):
        if has_indices and not orders.overlap(indices):
            return _clean(made, indices)
        if orders.tell_little(rows) or not has_indices or not orders.agree(rows, indices):
            text = f"the DataLoader of {place_of(made)} gave too many equal rows to tell which sample each of them is"
            return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank), orders.numbers(rows))
    if has_indices and not orders.overlap(indices) and one_data_set is not False:
        if one_data_set:
            return _clean(made, indices)
        text = f"the DataLoader of {place_of(made)} gave equal rows under different numbers: they may be equal samples"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank), orders.numbers(rows))
    if (shares := _shared_out_later(made, by_rank, rows)) is not None:
        return shares
    alike = orders.are_alike(rows)
    if not alike and orders.repeat(indices if has_indices else rows):
        text = f"the ranks drew from the DataLoader of {place_of(made)} with repetition, each its own samples"
        return Verdict(RULE, State.CLEAN, text, sites(made), tuple(sorted(rows)), orders.numbers(rows))
    if not alike and not all(one.complete for one in by_rank.values()) and not _is_torch(made.get("sampler_cls")):
        text = f"the DataLoader of {place_of(made)} was left before its end, and its sampler draws in a way of its own"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank), orders.numbers(rows))
    return _found(made, rows, alike)


def _shared_out_later(made: Event, by_rank: dict[int, Pass], rows: Orders) -> Verdict | None:
    """The verdict where the ranks read the same samples, and the loop gave each rank's model its share of them."""
    given: Orders = {rank: order for rank, one in by_rank.items() if (order := one.given_rows())}
    if len(given) < len(by_rank) or orders.overlap(given):
        return None
    if all(orders.consists_of(given[rank], one.inputs() or []) for rank, one in by_rank.items()):
        return _clean(made, given)
    if any(len(given[rank]) < _MOST * len(rows[rank]) for rank in rows):
        text = f"not all of what the ranks read from the DataLoader of {place_of(made)} was given to the model"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(by_rank), orders.numbers(rows))
    return None  # what was read was changed on its way, as by noise or augmentation


def _found(made: Event, rows: Orders, alike: bool) -> Verdict:
    shared, most = orders.shared(rows), max(len(set(order)) for order in rows.values())
    what = "the same batches in the same order" if alike else "the same samples"
    cure = _CURE
    if made.get("iterable"):
        cure = "Let the data set give each rank its share, for instance itertools.islice(rows, rank, None, world_size)"
    elif "istributed" in str(made.get("sampler_cls")):
        cure = "Build the data set and the sampler alike on all ranks, with one seed"
    text = (
        f"The ranks do not share the samples of this DataLoader out: in one pass {shared} of {most} samples were read "
        f"by more than one of the ranks {listed(sorted(rows))}, {what}, so the added processes repeat work. {cure}."
    )
    return Verdict(
        RULE, State.FOUND, text, sites(made), tuple(sorted(rows)), {**orders.numbers(rows), "same_order": alike}
    )


def _clean(made: Event, read: Orders) -> Verdict:
    text = f"the ranks read different samples from the DataLoader of {place_of(made)}"
    return Verdict(RULE, State.CLEAN, text, sites(made), tuple(sorted(read)), orders.numbers(read))


def _is_torch(cls: object) -> bool:
    return str(cls).rpartition(".")[2] in ("SequentialSampler", "RandomSampler", "SubsetRandomSampler", "None")


def _judge_inputs(run: Run) -> list[Verdict]:
    """Without a training loader: the rows given to the wrapper, on all ranks.

    That they are the same is no more than evidence: the rule is about loaders, and what a program generates may be
    meant to be the same everywhere.
    """
    inputs = {rank.number: forward_rows(rank) for rank in run.ranks}
    if not any(True for rank in run.ranks for _ in rank.of("backward")):
        return [Verdict(RULE, State.NOT_EXERCISED, "nothing was trained")]
    if not all(inputs.values()):
        return [Verdict(RULE, State.CANNOT_JUDGE, "no DataLoader was seen, and no rows of the model's inputs either")]
    rows: Orders = {rank: hashable(chain.from_iterable(some)) for rank, some in inputs.items()}
    ranks = tuple(sorted(rows))
    if not orders.overlap(rows):
        return [
            Verdict(
                RULE, State.CLEAN, "the models of the ranks were given different rows", (), ranks, orders.numbers(rows)
            )
        ]
    stack = _input_sites(run.ranks[0])
    steps = min(len({str(batch) for batch in some}) for some in inputs.values())
    text = "no DataLoader was seen, and the rows given to the model do not tell whose they are"
    if steps >= 2 and orders.variety(rows) >= 2 * orders.VARIED and orders.are_alike(rows):
        text = (
            "no DataLoader was seen; each rank's model is given the same rows in every step: unless that is meant, "
            "give each rank its share, for instance rows[rank::world_size]"
        )
    return [Verdict(RULE, State.CANNOT_JUDGE, text, stack, ranks, orders.numbers(rows))]


def _input_sites(rank: Rank) -> tuple[str, ...]:
    return next((sites(event) for event in rank.of("forward") if event.get("grad")), ())
