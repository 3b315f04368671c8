"""The judges, on runs that are written down by hand: what each rule's verdict is, and where it stands."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ddplint.harness.watch.drift import drifts
from ddplint.harness.watch.judges import RULES, observe, verdicts
from ddplint.harness.watch.meetings import goes_on
from ddplint.harness.watch.source import Source
from ddplint.harness.watch.verdict import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SAMPLER, EPOCH, WRAPPER, SAVE, DEVICE, ACCUM, DRIFT, BYPASS, COLLECTIVE, SPLIT, EXIT, LOSS, RACE = RULES
FOUND, CLEAN, IDLE, OPEN = State.FOUND, State.CLEAN, State.NOT_EXERCISED, State.CANNOT_JUDGE
LOADER, SHUFFLER, WRAP, BACKWARD, STEP = "train.py:10", "train.py:9", "train.py:8", "train.py:21", "train.py:22"
MAIN = "train.py:90"


class Run:
    """Events of ``world`` ranks, as they are added."""

    def __init__(self, world: int = 2, wraps: bool = True) -> None:
        self.events: list[dict[str, Any]] = []
        self.world = world
        self._clock = count()
        for rank in range(world):
            self.add(rank, "start", missing=[], fake_cuda=False)
            self.add(rank, "init", world=world, backend="gloo")
            if wraps:
                self.add(rank, "wrap", model=0, members=list(range(world)), sites=[WRAP, MAIN])

    def add(self, rank: int | None, kind: str, **fields: Any) -> None:
        common = {"ev": kind, "t": next(self._clock), "rank": rank, "pid": 100 + (-1 if rank is None else rank)}
        self.events.append({**common, "worker": False, **fields})

    def loader(self, rank: int, number: int = 0, site: str = LOADER, **fields: Any) -> None:
        made = {"sampler": None, "sampler_cls": "torch.utils.data.sampler.RandomSampler", "iterable": False}
        self.add(rank, "loader", loader=number, sites=[site, MAIN], **{**made, **fields})

    def shared_loader(self, rank: int, shuffle: bool = True, number: int = 0, **fields: Any) -> None:
        """A loader with a ``DistributedSampler``."""
        cls = "torch.utils.data.distributed.DistributedSampler"
        self.add(rank, "sampler", sampler=number, cls=cls, distributed=True, shuffle=shuffle, sites=[SHUFFLER, MAIN])
        self.loader(rank, number, sampler=number, sampler_cls=cls, **fields)

    def batch(
        self,
        rank: int,
        rows: list[Any],
        index: list[int] | None = None,
        loader: int = 0,
        number: int = 0,
        **fields: Any,
    ) -> None:
        hashes = [f"row {row}" for row in rows]
        self.add(
            rank, "batch", loader=loader, number=number, index=index, rows=hashes, inputs=hashes, grad=True, **fields
        )

    def forward(self, rank: int, rows: Iterable[Any] = (), **fields: Any) -> None:
        hashes = [f"row {row}" for row in rows]
        usual = {"model": 0, "sync": True, "grad": True, "training": True, "sites": ["train.py:20", MAIN]}
        self.add(rank, "forward", rows=hashes, **{**usual, **fields})

    def backward(self, rank: int, syncs: int = 1, site: str = BACKWARD, **fields: Any) -> None:
        for _ in range(syncs):
            self.add(rank, "sync", model=0)
        self.add(rank, "backward", **{"reached": [0], "stepping": False, "sites": [site, MAIN], **fields})

    def step(self, rank: int, digest: str | None = None, gradients: str | None = None) -> None:
        digests = {name: {"0": its} if its else None for name, its in (("digest", digest), ("gradients", gradients))}
        self.add(rank, "step", optimizer=0, models=[0], sites=[STEP, MAIN], **digests)

    def train(
        self, rank: int, rows: list[Any], number: int = 0, loader: int = 0, size: int = 4, index: bool = True
    ) -> None:
        """A pass over a loader that yields these rows, whose indices are the rows themselves."""
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            self.batch(rank, part, part if index else None, loader, number)
            self.forward(rank, part)
            self.backward(rank)
            self.step(rank)
        self.add(rank, "pass_end", loader=loader, number=number)

    def meet(self, rank: int, *stack: str, op: str = "all_reduce", ends: bool = True, **fields: Any) -> None:
        """A collective of the program's own, which it comes back from where it ``ends``."""
        members = list(range(self.world))
        self.add(rank, "collective", **{"op": op, "members": members, "sites": list(stack), **fields})
        if ends:
            self.add(rank, "collective_end", op=op)

    def end(self, *ranks: int) -> None:
        for rank in ranks:
            self.add(rank, "exit")

    def time_up(self) -> None:
        self.add(None, "time_up")
        self.events[-1]["t"] += 100

    def judged(self, rule: str, source: Source | None = None) -> list[Verdict]:
        return [verdict for verdict in verdicts(observe(self.events), source) if verdict.rule == rule]

    def verdict(self, rule: str, source: Source | None = None) -> Verdict:
        (only,) = self.judged(rule, source)
        return only


# A run in which nothing can be judged


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(0), "the script never joined a process group"),
        (Run(1), "there was one rank alone"),
        (Run(2, wraps=False), "no model was wrapped in DistributedDataParallel"),
    ],
    ids=["no group", "one rank", "no wrapper"],
)
def test_nothing_is_clean_where_nothing_ran(run: Run, why: str) -> None:
    found = verdicts(observe(run.events))
    assert [verdict.rule for verdict in found] == list(RULES)
    assert {(verdict.state, verdict.message) for verdict in found} == {(IDLE, why)}


def test_a_wrapped_model_that_did_nothing_exercises_no_rule() -> None:
    assert {verdict.state for verdict in verdicts(observe(Run().events))} == {IDLE}


def test_what_the_probe_could_not_see_is_not_judged() -> None:
    run = Run()
    for rank in range(2):
        run.shared_loader(rank)
        run.train(rank, list(range(rank, 16, 2)))
    assert run.verdict(SAMPLER).state is CLEAN
    run.add(0, "fault", where="data._batch_yielded", text="TypeError: new torch")
    assert run.verdict(SAMPLER).state is OPEN
    assert "data._batch_yielded" in run.verdict(SAMPLER).message
    assert run.verdict(DEVICE).state is CLEAN


def test_drift_is_told_from_the_first_step_after_which_parameters_differ() -> None:
    run = Run()
    for rank, digests in enumerate((["a", "b", "c"], ["a", "b", "d"])):
        for digest in digests:
            run.backward(rank, syncs=0)
            run.step(rank, digest)
    assert list(map(str, drifts(observe(run.events)))) == [
        f"the parameters of the model wrapped at {WRAP} differ between the ranks from step 2 on"
    ]


def test_a_rank_that_makes_fewer_steps_under_join_does_not_drift() -> None:
    """It takes part in the reductions of the others' steps, and then gets their parameters."""
    run = Run()
    for digest in ("a", "b", "c"):
        run.backward(0)
        run.step(0, digest)
    run.backward(1)
    run.step(1, "a")
    run.backward(1)
    run.backward(1)
    run.step(1, "c")
    assert drifts(observe(run.events)) == []


def test_past_its_limit_a_run_is_judged_by_what_all_ranks_wrote() -> None:
    run = Run()
    for rank in range(2):
        run.shared_loader(rank)
        run.train(rank, list(range(rank, 16, 2)))
    run.add(0, "limit")
    run.train(1, list(range(16)), number=1)
    assert run.verdict(SAMPLER).state is CLEAN
    assert observe(run.events).is_cut


# Sampler


def sampled(rows: Callable[[int], list[Any]], *, index: bool = True, **fields: Any) -> Verdict:
    """The verdict on one pass of two ranks over a loader that yields ``rows(rank)``."""
    run = Run()
    for rank in range(2):
        run.loader(rank, **fields)
        run.train(rank, rows(rank), index=index)
    return run.verdict(SAMPLER)


def test_ranks_that_read_the_same_are_found_at_the_loader() -> None:
    verdict = sampled(lambda _: list(range(32)))
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, LOADER, (0, 1))
    assert verdict.evidence == {"samples": {"0": 32, "1": 32}, "shared": 32, "same_order": True}


def test_another_order_on_each_rank_is_no_cure() -> None:
    verdict = sampled(lambda rank: list(range(32))[:: 1 if rank else -1])
    assert (verdict.state, verdict.evidence["same_order"]) == (FOUND, False)


def test_shares_are_clean_also_where_one_is_filled_up() -> None:
    assert sampled(lambda rank: list(range(rank, 32, 2))).state is CLEAN
    padded = sampled(lambda rank: [*range(rank, 61, 2), *([0] if rank else [])])
    assert (padded.state, padded.evidence["shared"]) == (CLEAN, 1)


def test_a_data_set_cut_by_rank_has_equal_indices_and_different_rows() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank)
        for start in range(0, 16, 4):
            rows = [f"{rank} {number}" for number in range(start, start + 4)]
            run.batch(rank, rows, list(range(start, start + 4)))
            run.forward(rank, rows)
            run.backward(rank)
            run.step(rank)
    assert run.verdict(SAMPLER).state is CLEAN


def test_equal_rows_are_told_by_their_indices_or_not_at_all() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank)
        for number in range(4):
            run.batch(rank, ["one"] * 4, [8 * number + 2 * at + rank for at in range(4)])
            run.backward(rank)
            run.step(rank)
    assert run.verdict(SAMPLER).state is CLEAN
    assert sampled(lambda _: ["one"] * 16, index=False).state is OPEN


def test_rows_that_change_each_time_they_are_read_are_not_compared() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank)
        for number in range(2):
            for start in range(0, 16, 4):
                rows = [f"{rank} {number} {at}" for at in range(start, start + 4)]
                run.batch(rank, rows, list(range(start, start + 4)), number=number)
                run.backward(rank)
                run.step(rank)
            run.add(rank, "pass_end", loader=0, number=number)
    assert run.verdict(SAMPLER).state is OPEN


def test_draws_of_their_own_are_clean_and_the_same_draws_are_found() -> None:
    draws = [[7, 7, 3, 1, 3, 2, 0, 5, 6, 6, 4, 4], [2, 4, 4, 0, 1, 1, 7, 3, 3, 5, 5, 6]]
    cls = "torch.utils.data.sampler.WeightedRandomSampler"
    assert sampled(lambda rank: draws[rank], sampler_cls=cls).state is CLEAN
    assert sampled(lambda _: draws[0], sampler_cls=cls).state is FOUND


def test_an_iterable_data_set_is_compared_by_rows() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank, iterable=True)
        run.train(rank, list(range(24)), index=False)
    verdict = run.verdict(SAMPLER)
    assert verdict.state is FOUND
    assert "islice" in verdict.message


def test_what_the_loop_shares_out_is_clean() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank)
        for start in range(0, 32, 4):
            rows = list(range(start, start + 4))
            run.batch(rank, rows, rows)
            if start // 4 % 2 == rank:
                run.forward(rank, rows)
                run.backward(rank)
                run.step(rank)
    assert run.verdict(SAMPLER).state is CLEAN


def test_evaluation_and_a_peek_are_no_training() -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank, 0, "train.py:30")  # looked into once
        run.batch(rank, list(range(4)), list(range(4)), 0)
        run.shared_loader(rank, number=1)
        run.train(rank, list(range(rank, 16, 2)), loader=1)
        run.loader(rank, 2, "train.py:40")  # for evaluation, with gradients on
        for start in range(0, 16, 4):
            rows = list(range(start, start + 4))
            run.batch(rank, rows, rows, 2)
            run.forward(rank, rows, training=False)
        run.add(rank, "pass_end", loader=2, number=0)
        run.train(rank, list(range(rank, 16, 2))[::-1], 1, loader=1)
    verdict = run.verdict(SAMPLER)
    assert (verdict.state, verdict.site) == (CLEAN, LOADER)


def test_loaders_correspond_by_their_place_and_not_by_their_number() -> None:
    run = Run()
    run.loader(0, 0, "train.py:30")  # rank 0 makes one more
    for rank in range(2):
        run.shared_loader(rank, number=1 - rank)
        run.train(rank, list(range(rank, 16, 2)), loader=1 - rank)
    assert run.verdict(SAMPLER).state is CLEAN


def test_without_a_loader_the_inputs_of_the_model_are_compared() -> None:
    run = Run()
    for rank in range(2):
        for start in range(0, 32, 4):
            run.forward(rank, range(start, start + 4))
            run.backward(rank)
            run.step(rank)
    verdict = run.verdict(SAMPLER)
    assert (verdict.state, verdict.site) == (OPEN, "train.py:20")
    assert "the same rows in every step" in verdict.message


def test_a_helper_that_one_call_uses_wrongly_is_right_itself() -> None:
    run = Run()
    for rank in range(2):
        for number, caller in enumerate(("train.py:50", "train.py:51")):
            run.add(rank, "loader", loader=number, iterable=False, sampler=None, sites=["data.py:5", caller])
        run.train(rank, list(range(32)), loader=0)
        run.train(rank, list(range(100 + rank, 132, 2)), loader=1)
    assert run.verdict(SAMPLER).site == "train.py:50"


# Epoch


def passes(*orders: list[int], shuffle: bool = True, told: Sequence[int] = (), by_index: bool = True) -> Verdict:
    """The verdict on passes of two ranks that read in these orders."""
    run = Run()
    for rank in range(2):
        run.shared_loader(rank, shuffle)
        for number, order in enumerate(orders):
            if number < len(told):
                run.add(rank, "set_epoch", sampler=0, epoch=told[number], sites=["train.py:18"])
            run.train(rank, [2 * item + rank for item in order], number, index=by_index)
    return run.verdict(EPOCH)


ONE, OTHER = [3, 0, 2, 1, 7, 5], [1, 7, 3, 5, 0, 2]


def test_two_passes_in_one_order_are_found_at_the_sampler() -> None:
    verdict = passes(ONE, OTHER, ONE)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, SHUFFLER, (0, 1))
    assert (verdict.evidence["equal_passes"], verdict.evidence["samples"]) == ([[0, 2]], 6)
    assert passes(ONE, ONE, by_index=False).state is FOUND


def test_new_orders_are_clean_and_one_pass_tells_nothing() -> None:
    assert passes(ONE, OTHER).state is CLEAN
    assert passes(ONE).state is IDLE


def test_without_shuffling_an_order_may_stay() -> None:
    assert passes(sorted(ONE), sorted(ONE), shuffle=False).state is IDLE


def test_what_set_epoch_was_told_decides_on_the_cure() -> None:
    assert passes(ONE, ONE).message.endswith("Call set_epoch(epoch) on it before each pass.")
    assert "it was told 0 each time" in passes(ONE, ONE, told=(0, 0)).message
    assert "let the sampler draw its order as it is iterated" in passes(ONE, ONE, told=(0, 1)).message


def test_one_order_that_comes_back_is_not_that_of_every_epoch() -> None:
    assert "the same way in every epoch: passes 0 and 1" in passes(ONE, ONE, ONE).message
    assert "the same way in more than one epoch: passes 0 and 2" in passes(ONE, OTHER, ONE).message


def test_a_loader_that_is_made_anew_goes_on_with_the_passes() -> None:
    run = Run()
    for rank in range(2):
        for number in range(2):
            run.shared_loader(rank, number=number)
            run.train(rank, [2 * item + rank for item in ONE], loader=number)
    assert run.verdict(EPOCH).state is FOUND


def test_another_model_s_pass_is_no_second_epoch() -> None:
    run = Run()
    for rank in range(2):
        run.shared_loader(rank)
        for number in range(2):
            rows = [2 * item + rank for item in ONE]
            run.batch(rank, rows, rows, number=number)
            run.backward(rank)
            run.add(rank, "step", optimizer=number, models=[number], sites=[STEP])
            run.add(rank, "pass_end", loader=0, number=number)
    assert run.verdict(EPOCH).state is IDLE


def test_batches_that_are_kept_and_replayed_are_found() -> None:
    run = Run()
    for rank in range(2):
        run.shared_loader(rank)
        rows = [2 * item + rank for item in (*ONE, *(item + 8 for item in ONE))]
        run.train(rank, rows)
        for start in range(0, len(rows), 4):
            run.forward(rank, rows[start : start + 4])
            run.backward(rank)
            run.step(rank)
    verdict = run.verdict(EPOCH)
    assert (verdict.state, verdict.site, verdict.evidence["replayed"]) == (FOUND, SHUFFLER, 3)


# Wrapper


def saved(run: Run, state: int | None = 0, path: str = "/run/model.pt", model: int | None = 0) -> None:
    run.add(0, "state", model=0, state=0, sites=["train.py:60", MAIN])
    entry = {"at": "", "keys": 2, "of": 2, "model": model, "state": state}
    run.add(0, "save", via="torch.save", path=path, prefixed=[entry], wrapper=False, sites=["train.py:61", MAIN])


def test_a_wrapper_s_keys_are_found_where_they_were_asked_for() -> None:
    for state in (0, None):
        run = Run()
        saved(run, state)
        verdict = run.verdict(WRAPPER)
        assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:60", (0,))
        assert (verdict.evidence["keys"], verdict.evidence["saved_at"]) == (2, "train.py:61")


def test_plain_keys_and_a_model_s_own_child_are_clean() -> None:
    run = Run()
    run.add(0, "save", via="pickle.dump", path="/run/losses", prefixed=[], wrapper=False, tensors=False, sites=[MAIN])
    assert run.verdict(WRAPPER).state is IDLE
    run.add(0, "save", via="torch.save", path="/run/model.pt", prefixed=[], wrapper=False, sites=["train.py:61"])
    assert run.verdict(WRAPPER).state is CLEAN
    saved(run, None, model=None)
    assert run.verdict(WRAPPER).state is CLEAN


def test_a_file_that_a_wrapper_reads_back_is_right_as_it_is() -> None:
    run = Run()
    saved(run)
    run.add(1, "load", path="/run/model.pt", sites=["train.py:70"])
    run.add(1, "load_state", model=0, strict=True, missing=0, unexpected=0, sites=["train.py:71"])
    assert run.verdict(WRAPPER).state is CLEAN
    saved(run, path="/run/other.pt")
    assert run.verdict(WRAPPER).state is FOUND


def test_a_file_that_the_text_shows_to_be_read_again_is_left_open(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, torch\nimport torch.distributed as dist\nfrom torch import nn\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "dist.init_process_group('gloo')\n"
        "model = DistributedDataParallel(nn.Linear(4, 1))\n"
        "if os.path.exists('last.pt'):\n"
        "    model.load_state_dict(torch.load('last.pt'))\n"
        "model(torch.rand(4, 4)).sum().backward()\n"
        "if dist.get_rank() == 0:\n"
        "    torch.save(model.state_dict(), 'last.pt')\n"
    )
    run = Run()
    run.add(0, "state", model=0, state=0, sites=[f"{script}:11"])
    entry = {"at": "", "keys": 2, "of": 2, "model": 0, "state": 0}
    run.add(0, "save", via="torch.save", path="last.pt", prefixed=[entry], wrapper=False, sites=[f"{script}:11"])
    assert run.verdict(WRAPPER).state is FOUND
    (left_open,) = (one for one in verdicts(observe(run.events), Source(str(script))) if one.rule == WRAPPER)
    assert left_open.state is OPEN


def test_a_dict_with_such_keys_that_is_not_the_wrapper_s_is_clean() -> None:
    run = Run()
    entry = {"at": "", "keys": 2, "of": 3, "model": 0, "state": None}
    run.add(0, "save", via="torch.save", path="/run/ema.pt", prefixed=[entry], wrapper=False, sites=["train.py:61"])
    assert run.verdict(WRAPPER).state is CLEAN
    run = Run()
    run.add(0, "names", model=0, sites=["train.py:59", MAIN])
    run.add(0, "save", via="torch.save", path="/run/kept.pt", prefixed=[entry], wrapper=False, sites=["train.py:61"])
    assert (run.verdict(WRAPPER).state, run.verdict(WRAPPER).site) == (FOUND, "train.py:59")


def test_the_wrapper_itself_is_found_where_it_is_saved() -> None:
    run = Run()
    run.add(0, "save", via="torch.save", path="/run/model.pt", prefixed=[], wrapper=True, sites=["train.py:61"])
    assert (run.verdict(WRAPPER).state, run.verdict(WRAPPER).site) == (FOUND, "train.py:61")


# Save


def write(run: Run, rank: int | None, path: str, *stack: str, kind: str = "save", **fields: Any) -> None:
    run.add(rank, kind, path=path, sites=list(stack), through=[], **fields)


def test_one_path_of_two_ranks_is_found_once_whatever_the_number_of_files() -> None:
    run = Run()
    for rank in range(2):
        for epoch in range(3):
            write(run, rank, f"/run/{epoch}.pt", "train.py:70", MAIN)
    verdict = run.verdict(SAVE)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:70", (0, 1))
    assert (verdict.evidence["files"], verdict.evidence["writes"]) == (3, 6)


def test_files_that_are_moved_to_their_place_are_whole_and_lost() -> None:
    run = Run()
    for rank in range(2):
        write(run, rank, "/run/model.pt", "train.py:70", MAIN, kind="rename")
    message = run.verdict(SAVE).message
    assert "each is whole" in message
    assert "broken" not in message


def test_one_rank_paths_of_their_own_and_appending_are_clean() -> None:
    run = Run()
    write(run, 0, "/run/model.pt", "train.py:70", MAIN)
    for rank in range(2):
        write(run, rank, f"/run/{rank}.pt", "train.py:71", MAIN)
        write(run, rank, "/run/log", "train.py:72", MAIN, kind="open", mode="a")
        run.add(rank, "open", path="/run/out.log", mode="w", through=["logging"], sites=["train.py:73", MAIN])
    assert run.verdict(SAVE).state is CLEAN


def test_what_is_saved_into_an_open_file_was_written_where_that_was_opened() -> None:
    run = Run()
    for rank in range(2):
        write(run, rank, "/run/model.pt", "train.py:70", MAIN, kind="open", mode="wb")
        write(run, rank, "/run/model.pt", "train.py:71", MAIN)
    assert run.verdict(SAVE).site == "train.py:70"


def test_a_writer_that_is_guarded_elsewhere_is_found_at_the_unguarded_call() -> None:
    run = Run()
    for rank in range(2):
        write(run, rank, "/run/last.pt", "save.py:5", "train.py:70", MAIN)
    write(run, 0, "/run/best.pt", "save.py:5", "train.py:65", MAIN)
    assert run.verdict(SAVE).site == "train.py:70"


def test_two_unguarded_calls_of_a_writer_are_one_mistake() -> None:
    run = Run()
    for rank in range(2):
        write(run, rank, "/run/last.pt", "save.py:5", "train.py:70", MAIN)
        write(run, rank, "/run/best.pt", "save.py:5", "train.py:65", MAIN)
    assert run.verdict(SAVE).site == "save.py:5"


def test_a_parent_that_spawns_the_ranks_may_write() -> None:
    run = Run()
    write(run, None, "/run/config.json", "train.py:80", kind="open", mode="w")
    write(run, 0, "/run/config.json", "train.py:70", MAIN, kind="open", mode="w")
    assert run.verdict(SAVE).state is CLEAN


def test_a_writer_that_the_parent_calls_too_is_found_at_the_ranks_call() -> None:
    run = Run()
    write(run, None, "/run/config.json", "save.py:5", "train.py:80")
    for rank in range(2):
        write(run, rank, "/run/config.json", "save.py:5", "train.py:70", MAIN)
    assert run.verdict(SAVE).site == "train.py:70"


def test_the_other_ranks_arm_is_the_mistake_and_of_two_arms_the_first(tmp_path: Path) -> None:
    run = Run()
    write(run, 0, "/run/model.pt", "train.py:70", MAIN)
    write(run, 1, "/run/model.pt", "train.py:72", MAIN)
    assert (run.verdict(SAVE).site, run.verdict(SAVE).ranks) == ("train.py:72", (0, 1))
    script = tmp_path / "train.py"
    script.write_text("if last:\n    save('last.pt')\nelse:\n    save('some.pt')\n")
    run = Run()
    for rank in range(2):
        write(run, rank, "/run/some.pt", f"{script}:4")
        write(run, rank, "/run/last.pt", f"{script}:2")
    assert run.verdict(SAVE).site == f"{script}:2"


def test_a_rank_that_failed_leaves_open_what_it_would_have_written() -> None:
    run = Run()
    write(run, 0, "/run/model.pt", "train.py:70", MAIN)
    run.add(1, "crash", type="ValueError", text="", trace="", sites=["train.py:69"])
    assert run.verdict(SAVE).state is OPEN


def test_a_file_written_because_it_was_not_there_is_a_race(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "def keep(path, rank):\n"
        "    if os.path.exists(path):\n"
        "        return\n"
        "    np.save(path, rows)\n"
        "    if rank == 0 and not os.path.exists(path):\n"
        "        np.save(path, rows)\n"
    )
    run = Run()
    write(run, 1, "/run/rows.npy", f"{script}:4", f"{script}:9", kind="open", mode="wb")
    assert run.verdict(SAVE).state is OPEN
    run = Run()
    write(run, 0, "/run/rows.npy", f"{script}:6", f"{script}:9", kind="open", mode="wb")
    assert run.verdict(SAVE).state is CLEAN


# Device


def moved(*, reset: int, syncs: int, steps: int = 3, fake_cuda: bool = False) -> Verdict:
    run = Run()
    run.events[0]["fake_cuda"] = fake_cuda
    for rank in range(2):
        run.forward(rank)
        run.backward(rank)
        run.step(rank)
        run.add(
            rank, "move", model=0, reset=reset, before=["cpu/float32"], after=["cpu/float64"], sites=["train.py:15"]
        )
        for _ in range(steps):
            run.forward(rank)
            run.backward(rank, syncs)
            run.step(rank)
    return run.verdict(DEVICE)


def test_a_move_after_which_nothing_is_reduced_is_found_at_the_wrap() -> None:
    verdict = moved(reset=4, syncs=0)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, WRAP, (0, 1))
    assert (verdict.evidence["steps_after"], verdict.evidence["moved_at"]) == (3, "train.py:15")


def test_a_move_that_harms_nothing_is_not_found() -> None:
    assert moved(reset=4, syncs=1).state is CLEAN
    assert moved(reset=4, syncs=0, steps=0).state is CLEAN
    assert moved(reset=0, syncs=1, fake_cuda=True).state is CLEAN
    assert moved(reset=0, syncs=1).state is IDLE


def test_a_wrap_that_torch_refuses_is_found_where_it_stands() -> None:
    run = Run(wraps=False)
    text = "No backend type associated with device type cpu"
    for rank in range(2):
        run.add(rank, "crash", type="RuntimeError", text=text, trace="... in _wrap\n ...", sites=[WRAP, MAIN])
    assert (run.verdict(DEVICE).state, run.verdict(DEVICE).site) == (FOUND, WRAP)
    assert run.verdict(SAMPLER).state is IDLE


# Accumulation


def accumulated(
    syncs: list[int],
    sites: list[str] | None = None,
    silent: Callable[[int], bool] = lambda _: False,
    stepping: bool = False,
) -> Verdict:
    """The verdict on steps whose backwards cost ``syncs`` each, with ``no_sync`` round those that are silent.

    ``stepping`` tells that the steps themselves run the backwards.
    """
    run = Run()
    for rank in range(2):
        for _ in range(2):
            for at, cost in enumerate(syncs):
                run.forward(rank)
                if silent(at):
                    run.add(rank, "no_sync", model=0, taken=["train.py:19", MAIN], sites=["train.py:19", MAIN])
                run.backward(rank, cost, sites[at] if sites else BACKWARD, stepping=stepping)
                if silent(at):
                    run.add(rank, "no_sync_end", model=0)
            run.step(rank)
    return run.verdict(ACCUM)


def test_a_reduce_for_each_micro_batch_is_found_at_the_backward() -> None:
    verdict = accumulated([1, 1, 1, 1])
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, BACKWARD, (0, 1))
    assert (verdict.evidence["micro_batches"], verdict.evidence["syncs"]) == (4, 4)


def test_a_no_sync_that_misses_the_forward_is_found_where_it_is_taken() -> None:
    assert accumulated([1, 1, 1, 1], silent=lambda at: at < 3).site == "train.py:19"


def test_reduces_held_back_after_the_forward_are_found_at_the_block(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("with held(model):\n    loss.backward()\n")
    run = Run()
    for rank in range(2):
        for _ in range(4):
            run.forward(rank)
            run.add(rank, "sync", model=0)
            run.add(rank, "backward", held=[0], sites=[f"{script}:2", MAIN])
        run.step(rank)
    verdict = run.verdict(ACCUM)
    assert (verdict.state, verdict.site) == (FOUND, f"{script}:1")
    assert "after the forward" in verdict.message


def test_one_reduce_a_step_is_clean_and_no_accumulation_is_not_exercised() -> None:
    assert accumulated([0, 0, 0, 1]).state is CLEAN
    assert accumulated([1]).state is IDLE


def test_an_optimizer_that_evaluates_a_closure_several_times_accumulates_nothing() -> None:
    assert accumulated([1, 1, 1], stepping=True).state is IDLE


def test_gradients_that_are_thrown_away_before_the_last_backward_are_not_accumulated() -> None:
    for fresh, state in (([0], IDLE), ([], FOUND)):
        run = Run()
        for rank in range(2):
            for _ in range(2):
                for _ in range(3):
                    run.forward(rank)
                    run.add(rank, "backward_begun", fresh=fresh, sites=[BACKWARD, MAIN])
                    run.backward(rank)
                run.step(rank)
        assert run.verdict(ACCUM).state is state


def test_two_backwards_written_one_after_the_other_are_no_accumulation() -> None:
    assert accumulated([1, 1], sites=["train.py:21", "train.py:25"]).state is IDLE


def test_a_helper_s_caller_decides_unless_the_helper_holds_the_loop(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "def push(loss):\n"
        "    loss.backward()\n"
        "def pieces(batch):\n"
        "    for part in batch:\n"
        "        model(part).backward()\n"
        "def main():\n"
        "    for batch in loader:\n"
        "        push(loss)\n"
        "        pieces(batch)\n"
        "        if last: optimizer.step()\n"
    )
    for stack, site in (([2, 8, 20], 8), ([5, 9, 20], 5)):
        run = Run()
        for rank in range(2):
            for _ in range(3):
                run.forward(rank)
                run.add(rank, "sync", model=0)
                run.add(rank, "backward", sites=[f"{script}:{line}" for line in stack])
            run.add(rank, "step", optimizer=0, models=[0], sites=[f"{script}:10", f"{script}:20"])
        assert run.verdict(ACCUM).site == f"{script}:{site}"


# Averaging


def stepped(
    before: Callable[[Run, int], None], rule: str, gradients: tuple[str, str] = ("a", "b"), source: Source | None = None
) -> Verdict:
    """The verdict on two steps of two ranks with these gradients, before each of which ``before(run, rank)`` adds."""
    run = Run()
    for _ in range(2):
        for rank in range(2):
            before(run, rank)
            run.step(rank, gradients=gradients[rank])
    (only,) = (verdict for verdict in verdicts(observe(run.events), source) if verdict.rule == rule)
    return only


def silenced(run: Run, rank: int) -> None:
    run.forward(rank)
    run.backward(rank)
    run.add(rank, "no_sync", model=0, taken=["train.py:18", MAIN], sites=["train.py:19", MAIN])
    run.forward(rank, sync=False)
    run.add(rank, "no_sync_end", model=0)
    run.backward(rank, 0)


def past_the_wrapper(run: Run, rank: int) -> None:
    run.add(rank, "inner", model=0, sites=["train.py:17", MAIN])
    run.backward(rank, 0)


def test_a_step_behind_a_silent_micro_batch_is_found_where_no_sync_is_taken() -> None:
    verdict = stepped(silenced, DRIFT)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:18", (0, 1))
    assert (verdict.evidence["backward_at"], verdict.evidence["step_at"]) == (BACKWARD, STEP)
    assert stepped(silenced, BYPASS).state is CLEAN


def test_a_loop_with_unaveraged_steps_is_not_reported_for_its_reduces_too() -> None:
    def reduced_but_for_the_last(run: Run, rank: int) -> None:
        run.forward(rank)
        run.backward(rank)
        silenced(run, rank)

    assert stepped(reduced_but_for_the_last, DRIFT).state is FOUND
    assert stepped(reduced_but_for_the_last, ACCUM).state is OPEN
    assert stepped(reduced_but_for_the_last, ACCUM, ("a", "a")).state is FOUND


def test_gradients_that_are_equal_at_the_step_were_averaged_by_hand() -> None:
    for rule, before in ((DRIFT, silenced), (BYPASS, past_the_wrapper)):
        assert stepped(before, rule, ("a", "a")).state is CLEAN


def test_parameters_that_are_averaged_after_each_step_are_clean() -> None:
    for starts, state in ((("a", "a"), CLEAN), (("b", "c"), FOUND)):
        run = Run()
        for at in range(2):
            for rank in range(2):
                silenced(run, rank)
                run.step(rank, digest="bc"[rank], gradients="de"[rank])
                run.events[-1]["start"] = {"0": starts[rank] if at else "a"}
        assert run.verdict(DRIFT).state is state


def test_averaged_gradients_may_be_clipped_by_each_rank() -> None:
    def averaged(run: Run, rank: int) -> None:
        run.forward(rank)
        run.backward(rank)

    assert stepped(averaged, DRIFT).state is CLEAN


def test_a_second_backward_of_one_forward_is_found_there() -> None:
    def twice(run: Run, rank: int) -> None:
        run.forward(rank)
        run.backward(rank)
        run.backward(rank, 0, "train.py:23")

    assert (stepped(twice, DRIFT).state, stepped(twice, DRIFT).site) == (FOUND, "train.py:23")


def test_a_flag_that_is_set_after_the_forward_is_found_where_it_is_set(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "def learn(model, x, last):\n"
        "    loss = model(x)\n"
        "    model.require_backward_grad_sync = last\n"
        "    loss.backward()\n"
        "    model.epoch = 1\n"
    )

    def late(run: Run, rank: int) -> None:
        run.forward(rank, sync=False, sites=[f"{script}:2", MAIN])
        run.backward(rank, 0, f"{script}:4")

    assert stepped(late, DRIFT, source=Source()).site == f"{script}:3"


def test_a_forward_that_was_to_average_is_left_to_what_kept_it_from_it() -> None:
    def lost(run: Run, rank: int) -> None:
        run.forward(rank)
        run.backward(rank, 0)

    assert stepped(lost, DRIFT).state is CLEAN


def test_a_loss_past_the_wrapper_is_found_at_the_call_of_the_model_inside() -> None:
    verdict = stepped(past_the_wrapper, BYPASS)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:17", (0, 1))
    assert stepped(past_the_wrapper, DRIFT).state is CLEAN

    def beside_a_forward(run: Run, rank: int) -> None:
        run.forward(rank)
        run.add(rank, "inner", model=0, sites=["train.py:17", MAIN])
        run.backward(rank)

    assert stepped(beside_a_forward, BYPASS).state is CLEAN


def test_a_loss_of_a_method_of_the_model_inside_is_found_where_the_text_shows_it(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nimport torch.distributed as dist\nfrom torch import nn\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "class Net(nn.Linear):\n"
        "    def cost(self, x):\n"
        "        return self(x).square().mean()\n"
        "dist.init_process_group('gloo')\n"
        "model = DistributedDataParallel(Net(4, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(3):\n"
        "    loss = model.module.cost(torch.rand(4, 4))\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )

    def by_a_method(run: Run, rank: int) -> None:
        run.backward(rank, 0, f"{script}:13", sites=[f"{script}:13"])

    assert stepped(by_a_method, BYPASS, source=Source(str(script))).site == f"{script}:12"
    assert stepped(by_a_method, BYPASS, source=Source()).site == f"{script}:13"


def test_what_nobody_steps_on_need_not_be_averaged() -> None:
    run = Run()
    for rank in range(2):
        past_the_wrapper(run, rank)
        run.add(rank, "step", optimizer=1, models=[1], gradients={"1": str(rank)}, sites=[STEP, MAIN])
    assert run.verdict(BYPASS).state is IDLE


# Collectives


GUARDED = """\
def train(rank):
    for epoch in range(9):
        for batch in loader:
            loss.backward()
        if rank == 0:
            dist.all_reduce(total)
        if epoch > 2:
            break
    dist.barrier()


def only_first(function):
    def run(*args, **kwargs):
        if rank == 0:
            return function(*args, **kwargs)
    return run


def report():
    dist.all_reduce(total)


if __name__ == "__main__":
    train()
    report()
"""


@pytest.fixture
def guarded(tmp_path: Path) -> str:
    script = tmp_path / "train.py"
    script.write_text(GUARDED)
    return str(script)


def trained(run: Run, script: str, *ranks: int, ends: bool = True) -> None:
    """A backward of these ranks in the loop of ``GUARDED``, which they come back from where it ``ends``."""
    for rank in ranks:
        run.add(rank, "backward_begun", sites=[f"{script}:4", f"{script}:24"])
        if ends:
            run.backward(rank, sites=[f"{script}:4", f"{script}:24"])


def test_a_collective_of_one_rank_that_others_wait_without_is_found_there(guarded: str) -> None:
    run = Run()
    trained(run, guarded, 0, 1)
    run.meet(0, f"{guarded}:6", f"{guarded}:24", ends=False)
    trained(run, guarded, 1, ends=False)
    assert run.verdict(COLLECTIVE).state is OPEN
    run.time_up()
    verdict = run.verdict(COLLECTIVE)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, f"{guarded}:6", (0,))
    assert "rank 1 waited in a backward" in verdict.message
    assert run.verdict(EXIT).state is OPEN


def test_a_collective_that_a_decorator_keeps_from_a_rank_is_found_below_it(guarded: str) -> None:
    run = Run()
    run.meet(0, f"{guarded}:20", f"{guarded}:15", f"{guarded}:25", ends=False)
    run.end(1)
    run.add(0, "crash", type="RuntimeError", text="[gloo] Connection closed by peer", trace="", sites=[])
    run.end(0)
    assert (run.verdict(COLLECTIVE).state, run.verdict(COLLECTIVE).site) == (FOUND, f"{guarded}:20")


def test_a_rank_that_failed_of_itself_leaves_open_what_it_did_not_come_to(guarded: str) -> None:
    run = Run()
    run.meet(0, f"{guarded}:20", f"{guarded}:25", ends=False)
    run.add(1, "crash", type="ValueError", text="no such tide", trace="", sites=[])
    run.time_up()
    assert run.verdict(COLLECTIVE).state is OPEN


def test_equal_collectives_in_two_arms_and_those_of_other_groups_are_clean() -> None:
    run = Run()
    for rank in range(2):
        run.meet(rank, f"train.py:{30 + rank}", MAIN)
        run.meet(rank, "train.py:40", MAIN, op="barrier")
    run.meet(0, "train.py:50", MAIN, members=[0])
    run.end(0, 1)
    assert run.verdict(COLLECTIVE).state is CLEAN
    assert Run().verdict(COLLECTIVE).state is IDLE


def test_a_collective_that_met_another_one_is_found_though_the_run_ended() -> None:
    run = Run()
    run.meet(0, "train.py:30", MAIN, op="broadcast")
    for rank in range(2):
        run.meet(rank, "train.py:40", MAIN, op="broadcast")
    run.end(0, 1)
    assert (run.verdict(COLLECTIVE).state, run.verdict(COLLECTIVE).site) == (FOUND, "train.py:30")


def test_a_forward_that_sends_buffers_is_met_by_a_later_forward_that_trains() -> None:
    for later, state in (([], FOUND), ([0, 1], OPEN)):
        run = Run()
        run.forward(0, grad=False, broadcast=True, sites=["train.py:31", MAIN])
        for rank in later:
            run.forward(rank, broadcast=True)
        run.meet(0, "train.py:40", MAIN, op="barrier", ends=False)
        run.meet(1, "train.py:40", MAIN, op="barrier", ends=False)
        run.time_up()
        assert run.judged(COLLECTIVE)[0].state is state


# Leaving


def test_a_rank_that_leaves_the_loop_of_the_others_is_found_at_its_statement(guarded: str) -> None:
    run = Run()
    trained(run, guarded, 0, 1)
    run.meet(0, f"{guarded}:9", f"{guarded}:24", op="barrier", ends=False)
    trained(run, guarded, 1, ends=False)
    run.time_up()
    verdict = run.verdict(EXIT)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, f"{guarded}:8", (0,))
    assert verdict.evidence["backwards"] == {"0": 1, "1": 2}
    assert run.verdict(COLLECTIVE).state is OPEN


def test_a_pass_that_a_rank_gives_up_is_found_where_its_loop_is_left(guarded: str) -> None:
    script = f"{guarded}.py"
    Path(script).write_text(
        "for x in loader:\n    loss.backward()\n    if loss > 1:\n        break\nif done:\n    exit()\n"
    )
    run = Run()
    for rank, batches in enumerate((1, 2)):
        run.loader(rank)
        for batch in range(batches):
            run.batch(rank, [rank, batch])
            run.add(rank, "backward_begun", sites=[f"{script}:2"])
            if rank == 0 or batch == 0:
                run.backward(rank, sites=[f"{script}:2"])
    run.add(0, "pass_left", loader=0, number=0, sites=[f"{script}:4"])
    run.end(0)
    run.time_up()
    assert (run.verdict(EXIT).state, run.verdict(EXIT).site) == (FOUND, f"{script}:4")


def test_a_rank_that_left_a_loop_with_a_collective_in_it_is_found_at_its_statement(guarded: str) -> None:
    script = f"{guarded}.py"
    Path(script).write_text(
        "while True:\n    loss.backward()\n    dist.all_reduce(loss)\n    if loss > 1:\n        break\n"
    )
    run = Run()
    for rank, backwards in enumerate((1, 2)):
        for at in range(backwards):
            run.add(rank, "backward_begun", sites=[f"{script}:2"])
            run.backward(rank, sites=[f"{script}:2"])
            run.meet(rank, f"{script}:3", ends=at == 0)
    run.end(0)
    run.time_up()
    assert (run.verdict(EXIT).state, run.verdict(EXIT).site) == (FOUND, f"{script}:5")
    assert run.verdict(COLLECTIVE).state is OPEN


def test_a_batch_that_a_rank_passes_by_is_found_at_the_statement_that_does_so(guarded: str) -> None:
    script = f"{guarded}.py"
    text = "for x in loader:\n    loss = model(x)\n    if loss > 1:\n        {}\n    loss.backward()\n"
    for statement, state in (("continue", FOUND), ("log(loss)", OPEN)):
        script = script.replace(".py", "_.py")
        Path(script).write_text(text.format(statement))
        run = Run()
        for rank in range(2):
            for batch in range(2):
                run.batch(rank, [rank, batch])
                run.forward(rank)
                if rank == 1 or batch == 1:
                    run.add(rank, "backward_begun", sites=[f"{script}:5"])
                if (batch == 1 and rank == 0) or (batch == 0 and rank == 1):
                    run.backward(rank, sites=[f"{script}:5"])
        run.end(0)
        run.time_up()
        verdict = run.verdict(EXIT)
        assert (verdict.state, verdict.site) == (state, f"{script}:{4 if state is FOUND else 5}")


@pytest.mark.parametrize(("idle", "works"), [(2.0, True), (60.0, False)], ids=["at work", "idle"])
def test_a_run_that_was_at_work_when_its_time_was_up_is_told_from_one_that_was_not(idle: float, works: bool) -> None:
    run = Run()
    for rank in range(2):
        run.train(rank, list(range(8)))
    last = run.events[-1]["t"]
    run.end(1)  # as it was told to
    run.time_up()
    assert not goes_on(observe(run.events[:-1]))
    run.events[-1]["t"] = last + idle
    assert goes_on(observe(run.events)) == works


def test_a_collective_that_keeps_ranks_apart_is_named_where_they_leave(saving: str) -> None:
    run = Run()
    for rank in range(2):
        run.add(rank, "backward_begun", sites=[BACKWARD])
        run.backward(rank)
    run.meet(0, saving, MAIN, ends=False)
    run.end(1)
    run.time_up()
    verdict = run.verdict(EXIT)
    assert (run.verdict(COLLECTIVE).state, verdict.state) == (FOUND, OPEN)
    assert verdict.message.endswith(f"see {COLLECTIVE}")


def test_ranks_that_all_come_to_their_end_left_alike() -> None:
    run = Run()
    for rank in range(2):
        run.add(rank, "backward_begun", sites=[BACKWARD])
        run.backward(rank)
    run.end(0, 1)
    assert run.verdict(EXIT).state is CLEAN


# Splits


def split(
    rows: Callable[[int], list[int]], seeds: tuple[int, int] = (0, 0), drawn: tuple[str, str] = ("a", "a")
) -> Run:
    """Two ranks that draw a split and share it out by samplers of these seeds, and then read these rows."""
    run = Run()
    for rank in range(2):
        run.add(rank, "draw", op="random_split", size=64, drawn="b", sites=["data.py:5", "train.py:6", MAIN])
        run.add(rank, "draw", op="random_split", size=64, drawn=drawn[rank], sites=["data.py:5", "train.py:7", MAIN])
        run.shared_loader(rank)
        run.events[-2]["seed"] = seeds[rank]
        run.train(rank, rows(rank))
    return run


def test_a_split_that_ranks_draw_otherwise_is_found_at_the_call_that_does_so() -> None:
    run = split(lambda rank: list(range(16 * rank, 32 + 16 * rank)), drawn=("a", "c"))
    verdict = run.verdict(SPLIT)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:7", (0, 1))
    assert verdict.evidence["shared"] == 16
    assert run.verdict(SAMPLER).state is OPEN


def test_seeds_that_differ_are_found_at_the_sampler() -> None:
    run = split(lambda rank: list(range(16 * rank, 32 + 16 * rank)), seeds=(0, 1))
    assert (run.verdict(SPLIT).state, run.verdict(SPLIT).site) == (FOUND, SHUFFLER)


def test_a_sampler_of_the_program_s_own_that_draws_as_it_begins_is_found_at_its_draw() -> None:
    for drawn, state in (("ab", FOUND), ("aa", IDLE)):
        run = Run()
        for rank in range(2):
            run.loader(rank, sampler_cls="__main__.Turns", length=64)
            run.add(rank, "draw", op="torch.randperm", size=64, drawn=drawn[rank], sites=["data.py:9", LOADER, MAIN])
            run.train(rank, list(range(16 * rank, 32 + 16 * rank)))
        assert run.verdict(SPLIT).state is state
        assert run.verdict(SAMPLER).state is (OPEN if state is FOUND else FOUND)


@pytest.mark.parametrize(
    ("drawn", "state"),
    [(("ab", "cd"), FOUND), (("ab", "ab"), IDLE)],  # by rank, what its two workers drew
    ids=["differing", "agreeing"],
)
def test_a_stream_that_is_shuffled_by_its_workers_is_found_at_their_draw(drawn: tuple[str, str], state: State) -> None:
    run = Run()
    for rank in range(2):
        run.loader(rank, iterable=True, workers=2, sampler_cls=None)
        for worker in (0, 1) if rank else (1, 0):  # in whatever order they come to it
            fields = {"op": "random.shuffle", "drawn": drawn[rank][worker], "drawer": worker, "sites": ["data.py:9"]}
            run.add(rank, "draw", **fields)
            run.events[-1].update(worker=True, pid=200 + 10 * rank + worker)
        run.train(rank, list(range(16 * rank, 32 + 16 * rank)), index=False)
    assert run.verdict(SPLIT).state is state
    assert run.verdict(SPLIT).site == ("data.py:9" if state is FOUND else None)
    assert run.verdict(SAMPLER).state is (OPEN if state is FOUND else FOUND)


def test_data_that_each_rank_has_under_one_number_leaves_the_split_open() -> None:
    run = Run()
    for rank in range(2):
        run.shared_loader(rank)
        for number in range(2):
            for start in range(0, 32, 4):
                index = list(range((start + 32 * (rank ^ number)), (start + 32 * (rank ^ number)) + 4))
                run.batch(rank, [f"{rank} {item}" for item in index], index, number=number)
                run.backward(rank)
                run.step(rank)
    assert run.verdict(SPLIT).state is OPEN


def test_shares_that_do_not_overlap_are_clean_whatever_was_drawn() -> None:
    run = split(lambda rank: list(range(rank, 64, 2)), seeds=(0, 1), drawn=("a", "c"))
    assert run.verdict(SPLIT).state is CLEAN
    assert run.verdict(SAMPLER).state is CLEAN


# Races


@pytest.fixture
def saving(tmp_path: Path) -> str:
    """The place of a write that is left to one rank."""
    script = tmp_path / "saving.py"
    script.write_text("if rank == 0:\n    torch.save(state, path)\n")
    return f"{script}:2"


def written_and_read(run: Run, read: str = "train.py:30") -> Verdict:
    run.add(1, "read", path="/run/model.pt", missing=False, sites=[read, MAIN])
    return run.verdict(RACE)


def test_a_read_that_nothing_holds_back_until_the_write_is_done_is_found(saving: str) -> None:
    run = Run()
    write(run, 0, "/run/model.pt", saving, MAIN)
    verdict = written_and_read(run)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:30", (1,))
    assert verdict.evidence["written_at"] == saving
    assert "was there this time" in verdict.message
    run = Run()
    run.add(1, "read", path="/run/model.pt", missing=True, sites=["train.py:30", MAIN])
    write(run, 0, "/run/model.pt", saving, MAIN)
    assert "was not there yet" in run.verdict(RACE).message


def test_ranks_that_meet_between_the_write_and_the_read_are_clean(saving: str) -> None:
    run = Run()
    write(run, 0, "/run/model.pt", saving, MAIN)
    for rank in range(2):
        run.meet(rank, "train.py:28", MAIN, op="barrier")
    assert written_and_read(run).state is CLEAN


def test_a_file_that_the_writer_reads_first_is_written_later(saving: str) -> None:
    run = Run()
    run.add(0, "read", path="/run/model.pt", missing=False, sites=["train.py:28", MAIN])
    write(run, 0, "/run/model.pt", saving, MAIN)
    assert written_and_read(run).state is CLEAN


def test_a_rank_that_looks_for_the_file_or_gets_a_message_may_wait_for_it(saving: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("while not path.exists():\n    pass\nload(path)\n")
    run = Run()
    write(run, 0, "/run/model.pt", saving, MAIN)
    assert written_and_read(run, f"{script}:3").state is OPEN
    run = Run()
    write(run, 0, "/run/model.pt", saving, MAIN)
    run.add(1, "message", op="recv", sites=["train.py:29", MAIN])
    assert written_and_read(run).state is OPEN


def test_a_file_that_any_rank_may_write_leaves_the_read_open() -> None:
    run = Run()
    write(run, 0, "/run/model.pt", "train.py:29", MAIN)
    assert written_and_read(run).state is OPEN


# Losses


def test_a_loss_that_is_divided_after_its_sum_is_found_at_the_all_reduce() -> None:
    run = Run()
    for rank in range(2):
        run.meet(rank, "train.py:19", MAIN, number=0)
        run.meet(rank, "train.py:30", MAIN, number=1)
        run.add(rank, "backward_begun", scaled=[[0, "divided by the world size"]], sites=[BACKWARD, MAIN])
        run.backward(rank)
    verdict = run.verdict(LOSS)
    assert (verdict.state, verdict.site, verdict.ranks) == (FOUND, "train.py:19", (0, 1))


def test_a_helper_that_reduces_what_is_logged_too_is_found_at_the_call_for_the_loss() -> None:
    run = Run()
    for rank in range(2):
        for number, line in enumerate((20, 40)):
            run.meet(rank, "train.py:5", f"train.py:{line}", MAIN, number=number)
        run.add(rank, "backward_begun", scaled=[[0, "log"]], sites=[BACKWARD, MAIN])
    assert (run.verdict(LOSS).site, run.verdict(LOSS).evidence["how"]) == ("train.py:20", "log")


def test_a_bare_sum_is_clean() -> None:
    run = Run()
    for rank in range(2):
        run.meet(rank, "train.py:19", MAIN, number=0)
        run.add(rank, "backward_begun", scaled=[], sites=[BACKWARD, MAIN])
    assert run.verdict(LOSS).state is CLEAN
