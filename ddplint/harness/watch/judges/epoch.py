"""Whether a shuffling sampler drew a new order for each training pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddplint.harness.watch.observed import place_of, sites
from ddplint.harness.watch.passes import Pass, hashable, training_passes
from ddplint.harness.watch.verdict import State, Verdict, summed_up

if TYPE_CHECKING:
    from ddplint.harness.watch.events import Event
    from ddplint.harness.watch.observed import Rank, Run
    from ddplint.harness.watch.passes import Row
    from ddplint.harness.watch.source import Source
    from ddplint.harness.watch.verdict import Evidence

RULE = "ddp-missing-set-epoch"

_TELLING = 4  # fewer samples in the same order may be chance
_IDLE = "no sampler that shuffles by its epoch was used for training"


def judge(run: Run, _source: Source) -> list[Verdict]:
    """The samplers that gave two training passes of one rank the same order, as several ranks saw it."""
    parts = [part for rank in run.ranks for part in _judge_rank(rank)]
    return summed_up(RULE, parts, _IDLE)


def _judge_rank(rank: Rank) -> list[Verdict]:
    return [part for passes in _lineages(rank) if (part := _judge_passes(rank, passes)) is not None]


def _lineages(rank: Rank) -> list[list[Pass]]:
    """The training passes of each loader; one that is made anew for each epoch, at the same place, goes on with it."""
    found: list[list[Pass]] = []
    for one in training_passes(rank):
        for lineage in found:
            if _goes_on(rank, lineage, one):
                lineage.append(one)
                break
        else:
            found.append([one])
    return found


def _goes_on(rank: Rank, lineage: list[Pass], one: Pass) -> bool:
    if lineage[0].models.isdisjoint(one.models):
        return False  # another training, of another model
    if one.loader == lineage[0].loader:
        return True
    made, before = rank.made("loader").get(one.loader), rank.made("loader").get(lineage[-1].loader)
    if made is None or before is None or sites(made) != sites(before):
        return False
    return bool(made["t"] > lineage[-1].batches[0]["t"])  # else they exist side by side


def _judge_passes(rank: Rank, passes: list[Pass]) -> Verdict | None:
    """What the passes of one loader show; None where its order comes from no sampler's epoch."""
    made = rank.made("loader").get(passes[0].loader, {})
    sampler = rank.made("sampler").get(made.get("sampler", -1), {})
    if made.get("iterable") or not _shuffles(made, sampler):
        return None
    maker = sampler or made
    name = _short(sampler.get("cls") or made.get("sampler_cls"))

    def verdict(state: State, text: str, evidence: Evidence) -> Verdict:
        return Verdict(RULE, state, text, sites(maker), (rank.number,), evidence)

    if len(passes) == 1:
        replayed = _replayed(rank, passes[0])
        if not replayed:
            text = f"the loader with the {name} of {place_of(maker)} was iterated once; a second epoch is needed"
            return verdict(State.NOT_EXERCISED, text, {"passes": 1})
        size = len(passes[0].batches)
        text = (
            f"The batches drawn with this {name} are kept and replayed: rank {rank.number} iterated its loader once "
            f"and trained on the same {size} batches in the same order again, whatever set_epoch says. "
            "Iterate the loader anew in each epoch, after set_epoch(epoch)."
        )
        return verdict(State.FOUND, text, {"passes": 1, "batches": size, "replayed": replayed})
    orders = [one.indices() or one.rows() for one in passes]
    known = [(number, hashable(order)) for number, order in enumerate(orders) if order]
    samples = min((len(order) for _, order in known), default=0)
    told = [event.get("epoch") for event in rank.of("set_epoch") if event["sampler"] == made.get("sampler")]
    equal = [
        [one, other]
        for at, (one, left) in enumerate(known)
        for other, right in known[at + 1 :]
        if _is_one_order(left, right, bool(sampler.get("shuffle")))
    ]
    numbers = {"passes": len(passes), "samples": samples, "equal_passes": equal[:8], "set_epoch": told[:8]}
    if equal:
        one, other = equal[0]
        often = "in every epoch" if len(equal) == len(known) * (len(known) - 1) // 2 else "in more than one epoch"
        text = (
            f"This {name} shuffles the same way {often}: passes {one} and {other} of rank {rank.number} read "
            f"the same {samples} samples in the same order, and the other ranks' samples never come to it. "
            f"{_cure(*(_told_before(rank, made, passes[number]) for number in (one, other)))}"
        )
        return verdict(State.FOUND, text, numbers)
    if samples < _TELLING:
        text = f"the orders of the passes with the {name} of {place_of(maker)} are not known, or too short to tell"
        return verdict(State.CANNOT_JUDGE, text, numbers)
    return verdict(State.CLEAN, f"the {name} of {place_of(maker)} gave each pass an order of its own", numbers)


def _replayed(rank: Rank, one: Pass) -> int:
    """How many batches of a single pass were trained on again, as ``itertools.cycle(loader)`` and a list do."""
    batches = {tuple(hashable(batch["inputs"])) for batch in one.batches if batch.get("inputs")}
    given = [
        tuple(hashable(event["rows"]))
        for event in rank.of("forward")
        if event["model"] in one.models and event.get("grad") and event.get("rows")
        if event["t"] >= one.batches[0]["t"]
    ]
    given = [rows for rows in given if rows in batches] or given
    size = len(one.batches)
    again = given[size : 2 * size]
    is_replay = size > 1 and len(set(again)) > 1 and again == given[: len(again)]
    return len(given) - size if is_replay else 0


def _shuffles(made: Event, sampler: Event) -> bool:
    """Whether the order may come from a sampler's epoch: of a distributed one that shuffles, or the project's own."""
    if not sampler:
        return "istributed" in str(made.get("sampler_cls"))
    if sampler.get("distributed"):
        return sampler.get("shuffle") is not False
    return not str(sampler.get("cls")).startswith("torch.") and _short(made.get("dataset_cls")) != "Subset"


def _told_before(rank: Rank, made: Event, one: Pass) -> object:
    """The epoch that the sampler was last told before a pass gave its first batch; None where it was told none."""
    told = [event for event in rank.of("set_epoch") if event["sampler"] == made.get("sampler")]
    return next((event.get("epoch") for event in reversed(told) if event["t"] < one.batches[0]["t"]), None)


def _cure(first: object, second: object) -> str:
    """What to write where a sampler was told these epochs before two passes in one order; None for no epoch."""
    if second is None:
        return "Call set_epoch(epoch) on it before each pass."
    if str(second) == str(first or 0):  # where it starts
        vain = "" if first is None else f"; it was told {first} each time"
        return f"Call set_epoch(epoch) on it before each pass with the number of the epoch{vain}."
    return (
        f"set_epoch({second}) was called in time for the second, but the order was drawn before or does not depend on "
        "it. Call set_epoch(epoch) before the loader is iterated, and let the sampler draw its order as it is iterated."
    )


def _is_one_order(left: list[Row], right: list[Row], shuffles: bool) -> bool:
    """Whether two passes read the same samples in the same, shuffled order, as far as both went."""
    length = min(len(left), len(right))
    if length < _TELLING or left[:length] != right[:length]:
        return False
    return shuffles or not _is_plain(left[:length])


def _is_plain(order: list[Row]) -> bool:
    """Whether it goes straight up, as without shuffling."""
    return all(isinstance(row, int) for row in order) and order == sorted(order)


def _short(cls: object) -> str:
    return str(cls or "sampler").rpartition(".")[2]
