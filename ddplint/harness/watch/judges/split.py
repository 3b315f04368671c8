"""Whether the ranks agreed on who owns which sample, where the samples were shared out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ddplint.harness.watch import orders
from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.passes import training_passes
from ddplint.harness.watch.sharing import has_one_data_set, matched, varies
from ddplint.harness.watch.verdict import State, Verdict, listed, parted, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Place, Rank, Run
    from ddplint.harness.watch.orders import Orders
    from ddplint.harness.watch.passes import Pass
    from ddplint.harness.watch.source import Source

RULE = "ddp-rank-dependent-split"

_Drawer = tuple[tuple[str, ...], "int | None"]
"""Where an order was drawn, and the number of the loader's worker that drew it, None for the rank itself."""

_SHARE = 1.25  # of a rank's part: a rank that reads more has not shared anything out


def judge(run: Run, _source: Source) -> list[Verdict]:
    """The samplers and draws by which the ranks' shares came to overlap."""
    parts = [verdict for verdict in by_loader(run).values() if verdict is not None]
    return summed_up(RULE, parts, "no loader that shares samples out was iterated for training")


def by_loader(run: Run) -> dict[Place, Verdict | None]:
    """The verdict on each training loader, by its place; None where it does not share samples out."""
    passes = {rank.number: training_passes(rank) for rank in run.ranks}
    found: dict[Place, Verdict | None] = {}
    for place, made, by_rank in matched(run, passes):
        ranks = {rank.number: rank for rank in run.ranks if rank.number in by_rank}
        found[place] = _judge(place, made, by_rank, ranks) if len(by_rank) > 1 else None
    return found


def _judge(place: Place, made: Event, by_rank: dict[int, list[Pass]], ranks: dict[int, Rank]) -> Verdict | None:
    loaders = {number: _loader(rank, place) for number, rank in ranks.items()}
    samplers = {
        number: rank.made("sampler").get((loaders[number] or {}).get("sampler", -1)) for number, rank in ranks.items()
    }
    distributed = all(sampler is not None and sampler.get("distributed") for sampler in samplers.values())
    read = _overlap(by_rank)
    if read is None:
        if not distributed:
            return None
        if has_one_data_set(by_rank) is False and not varies(by_rank):
            text = (
                f"the ranks' shares of the DataLoader of {place_of(made)} do not overlap by their numbers, under which "
                "each rank has data of its own"
            )
            return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(sorted(by_rank)))
        text = f"the ranks' shares of the DataLoader of {place_of(made)} do not overlap"
        return Verdict(RULE, State.CLEAN, text, sites(made), tuple(sorted(by_rank)))
    numbers = orders.numbers(read)
    shared = (
        f"in one pass {orders.shared(read)} of {max(len(set(order)) for order in read.values())} samples were read by "
        f"more than one of the ranks {listed(sorted(read))}, and others by none"
    )
    seeds = {number: (sampler or {}).get("seed") for number, sampler in samplers.items()}
    first = next((sampler for sampler in samplers.values() if sampler is not None), None)
    if distributed and first is not None and first.get("shuffle") and len(set(seeds.values())) > 1:
        told = ", ".join(f"{seed} on rank {number}" for number, seed in sorted(seeds.items()))
        text = (
            f"The seed of this sampler differs between the ranks ({told}), so each shuffles otherwise and takes its "
            f"share of another order: {shared}. Give it one seed on all ranks."
        )
        return Verdict(RULE, State.FOUND, text, sites(first), tuple(sorted(read)), {**numbers, "seeds": seeds})
    if not distributed and not _are_shares(read, made):
        return None  # nothing was shared out
    # A sampler or a stream may draw as it begins, a stream in the loader's workers.
    draws = _differing(ranks, {number: (its or made)["t"] for number, its in loaders.items()})
    begun = {number: passes[0].batches[0]["t"] for number, passes in by_rank.items()}
    draws = draws or _differing(ranks, begun, workers=bool(made.get("iterable")))
    if len({sites(draw) for draw in draws}) != 1:
        if distributed or made.get("part_of") is None:
            return None
        text = f"{shared}, in shares of the ranks' own making; what they disagree on was not seen"
        return Verdict(RULE, State.CANNOT_JUDGE, text, sites(made), tuple(sorted(read)), numbers)
    draw = draws[0]
    text = (
        f"What {draw['op']} draws here differs between the ranks, and they share out what it gave: {shared}. Draw it "
        "with a generator that has one seed on all ranks, as torch.Generator().manual_seed(0)."
    )
    stack = parted(sites(draw), _agreed(ranks, draw))
    return Verdict(RULE, State.FOUND, text, stack, tuple(sorted(read)), {**numbers, "op": draw["op"]})


def _are_shares(read: Orders, made: Event) -> bool:
    """Whether each rank read a part of the data set that is no more than its share of the whole, if that is known."""
    if made.get("iterable"):
        return True
    whole = made.get("part_of")
    if whole is None and not str(made.get("sampler_cls")).startswith("torch."):
        whole = made.get("length")
    return bool(whole) and max(len(set(order)) for order in read.values()) * len(read) <= _SHARE * int(whole or 0)


def _agreed(ranks: dict[int, Rank], draw: Event) -> list[tuple[str, ...]]:
    """The other ways to the call of a draw, by which the ranks drew alike."""
    drawn: dict[tuple[str, ...], set[object]] = {}
    for rank in ranks.values():
        for event in rank.of("draw"):
            if sites(event)[:1] == sites(draw)[:1] and sites(event) != sites(draw):
                drawn.setdefault(sites(event), set()).add(event.get("drawn"))
    return [stack for stack, its in drawn.items() if len(its) == 1]


def _loader(rank: Rank, place: Place) -> Event | None:
    return next((made for number, made in rank.made("loader").items() if rank.place("loader", number) == place), None)


def _overlap(by_rank: dict[int, list[Pass]]) -> Orders | None:
    """What the ranks read in the first pass in which their shares, but not all they read, overlap."""
    unstable = varies(by_rank)
    for at in range(min(map(len, by_rank.values()))):
        together = {rank: found[at] for rank, found in by_rank.items()}
        indices: Orders = {rank: order for rank, one in together.items() if (order := one.indices())}
        rows: Orders = {rank: order for rank, one in together.items() if (order := one.rows())}
        for read in (indices, rows):
            if len(read) < len(by_rank) or (read is rows and (unstable or not _tell_apart(by_rank, rows, indices))):
                continue
            most = max(len(set(order)) for order in read.values())
            if orders.overlap(read) and orders.shared(read) < orders.ALIKE * most:
                return read
    return None


def _tell_apart(by_rank: dict[int, list[Pass]], rows: Orders, indices: Orders) -> bool:
    """Whether equal rows are the same samples, and not only alike."""
    return has_one_data_set(by_rank) is False if indices else not orders.are_ambiguous(rows, None)


def _differing(ranks: dict[int, Rank], before: dict[int, float], *, workers: bool = False) -> list[Event]:
    """The draws of the first rank, ``before`` such a time on each, whose like on another rank drew otherwise.

    Those of loaders' ``workers`` are asked for, or left out.
    """
    by_place: dict[int, dict[tuple[_Drawer, int], Event]] = {}
    for number, rank in ranks.items():
        drawn: dict[tuple[_Drawer, int], Event] = by_place.setdefault(number, {})
        counts: Counter[_Drawer] = Counter()
        for event in rank.all_events if workers else rank.events:
            if event["ev"] == "draw" and event["t"] < before[number]:
                drawer = sites(event), event.get("drawer")
                drawn[drawer, counts[drawer]] = event
                counts[drawer] += 1
    first, *others = by_place.values()
    return [
        event
        for place, event in first.items()
        if all(place in other for other in others)
        and any(other[place].get("drawn") != event.get("drawn") for other in others)
    ]
