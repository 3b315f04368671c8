"""Measures the built-in workload on 1, 2, ... ranks in one launch, windows of all sizes taking turns.

Whatever disturbs the machine for a while then falls on all sizes alike. Ranks that a size does not need wait in a
barrier, asleep.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ddplint.harness import ranks, scratch, show
from ddplint.harness.scale.clock import Shared
from ddplint.harness.scale.windows import AS_IS, WARM_UP, Window, undisturbed
from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    from ddplint.harness.scale.faults import Costs
    from ddplint.harness.scale.workload import Trainer

_SETTLE = 2  # steps before a window, after the ranks have waited

CACHED = "one batch kept"
DOUBLED = "batch doubled"
UNSYNCED = "no_sync"


@dataclass(frozen=True)
class Plan:
    """What to measure: ``sizes`` (ascending, from 1), each in ``rounds`` windows of at least ``seconds``.

    ``changes`` measures the controlled changes too, ``threads`` are pinned for every size alike.
    """

    sizes: tuple[int, ...]
    rounds: int
    seconds: float
    threads: int
    changes: bool
    timeout: float

    @property
    def trials(self) -> list[tuple[int, str]]:
        """The sizes and variants of one round."""
        trials = [(size, AS_IS) for size in self.sizes]
        if self.changes:
            most = self.sizes[-1]
            trials += [(1, CACHED), (most, CACHED), (1, DOUBLED), (most, UNSYNCED)]
        return trials


def measure(costs: Costs, plan: Plan) -> list[Window]:
    """The windows of every rank. Raises ``HarnessError`` when a rank fails or the time is out."""
    most = plan.sizes[-1]
    try:
        with scratch.folder() as folder:
            by_rank = ranks.run(partial(_measure, costs, plan, Shared(most)), most, folder / "ranks", plan.timeout)
    except ranks.RankError as error:
        raise HarnessError(f"measuring failed: {error}", Status.CANNOT_TELL) from error
    finally:
        show.progress("")
    return undisturbed([window for windows in by_rank for window in windows])


def _measure(costs: Costs, plan: Plan, shared: Shared, rank: int, nproc: int) -> list[Window]:
    """The windows of this rank."""
    import torch
    import torch.distributed as dist

    from ddplint.harness.scale.workload import Trainer

    torch.set_num_threads(plan.threads)
    trainers = {}
    for size in plan.sizes:
        group = dist.new_group(list(range(size)))  # on every rank, also on those outside it
        if rank < size:
            trainers[size] = Trainer(costs, group, shared, lags=rank == nproc - 1)
    steps = {}
    windows = []
    for number in range(plan.rounds):
        for size, variant in plan.trials:
            dist.barrier()
            if rank == 0:
                show.progress(f"round {number + 1} of {plan.rounds}: {size} of {nproc} ranks, {variant}")
            mine = trainers.get(size)
            if number == 0:
                wanted = torch.zeros(1, dtype=torch.long)
                if mine is not None:
                    wanted[0] = _steps(mine, variant, plan.seconds)
                dist.broadcast(wanted, 0)
                steps[size, variant] = int(wanted)
                dist.barrier()
            if mine is not None:
                windows.append(_window(mine, variant, steps[size, variant], (size, rank, number)))
    dist.barrier()
    return windows


def _steps(trainer: Trainer, variant: str, seconds: float) -> int:
    """Warm up and return how many steps last ``seconds``."""
    step = _stepper(trainer, variant)
    trainer.clock.resume()
    for _ in range(WARM_UP):
        step()
    started = trainer.now()
    for _ in range(3):
        step()
    return max(5, math.ceil(3 * seconds / (trainer.now() - started)))


def _window(trainer: Trainer, variant: str, steps: int, place: tuple[int, int, int]) -> Window:
    from ddplint.harness.scale.workload import PHASES

    step = _stepper(trainer, variant)
    trainer.clock.resume()
    for _ in range(_SETTLE):
        step()
    size, rank, number = place
    processor, started, lost = time.process_time(), trainer.now(), trainer.clock.lost
    phases = [sum(parts) for parts in zip(*(step() for _ in range(steps)), strict=True)]
    seconds, processor = trainer.now() - started, time.process_time() - processor
    return Window(
        size=size,
        rank=rank,
        number=number,
        steps=steps,
        samples=steps * _batch(trainer, variant),
        seconds=seconds,
        cpu=processor,
        phases=dict(zip(PHASES, phases, strict=True)),
        variant=variant,
        lost=trainer.clock.lost - lost if trainer.costs.simulated else 0.0,
    )


def _stepper(trainer: Trainer, variant: str) -> partial[list[float]]:
    return partial(trainer.step, _batch(trainer, variant), cached=variant == CACHED, sync=variant != UNSYNCED)


def _batch(trainer: Trainer, variant: str) -> int:
    return trainer.costs.batch * (2 if variant == DOUBLED else 1)
