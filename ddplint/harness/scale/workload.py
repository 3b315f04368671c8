"""The training that is measured: a small network whose costs are computed, or passed by a clock.

On the simulated device forward and backward take a given time without computing, so that the table can be tested, and
a fault be put in, on any machine. torch is imported at the top: only forked ranks import this module.
"""

# Annotations are not postponed here: the wrapper checks those of its communication hook, and knows no strings.

import time
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from ddplint.harness.scale.clock import Clock, Shared
from ddplint.harness.scale.faults import Costs
from ddplint.harness.scale.windows import BACKWARD, DATA, FORWARD, OPTIMIZER

_ROWS = 4096
PHASES = (DATA, FORWARD, BACKWARD, OPTIMIZER)


class _Delay(torch.autograd.Function):
    """The identity; its backward lasts ``seconds``."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, clock: Clock, seconds: float) -> torch.Tensor:
        ctx.clock, ctx.seconds = clock, seconds
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.clock.spend(ctx.seconds)
        return gradients[0], None, None


class _Network(nn.Module):
    """A small network, whose forward and backward last longer by what ``costs`` say."""

    def __init__(self, costs: Costs, clock: Clock, lag: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(costs.width, costs.width), nn.ReLU(), nn.Linear(costs.width, 8))
        self.costs, self.clock, self.lag = costs, clock, lag

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The outputs, shape (batch, 8), of ``inputs``, shape (batch, width)."""
        seconds = self.costs.step + self.costs.sample * len(inputs) + self.lag
        outputs = self.body(inputs)
        self.clock.spend(seconds / 3)
        delayed: torch.Tensor = _Delay.apply(outputs, self.clock, seconds * 2 / 3)  # type: ignore[no-untyped-call]
        return delayed


class Trainer:
    """Trains on the ranks of ``group``, a step at a time, and tells what each part of a step took."""

    def __init__(self, costs: Costs, group: dist.ProcessGroup, shared: Shared, *, lags: bool) -> None:
        torch.manual_seed(0)
        self.costs = costs
        self.clock = Clock(shared, group.rank(), group.size(), costs.slack)
        self.inputs = torch.randn(_ROWS, costs.width)
        self.model = DistributedDataParallel(
            _Network(costs, self.clock, costs.lag if lags else 0.0), process_group=group
        )
        self.model.register_comm_hook(group, self._reduce)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.place = 0
        self.kept: torch.Tensor | None = None

    def now(self) -> float:
        """The time in seconds; simulated, that at which the device ended its last work."""
        return self.clock.until if self.costs.simulated else time.monotonic()

    def step(self, batch: int, *, cached: bool = False, sync: bool = True) -> list[float]:
        """Make a step on ``batch`` samples and return the seconds of its ``PHASES``.

        ``cached`` trains on one kept batch, ``sync`` off leaves the gradients of each rank to itself.
        """
        marks = [self.now()]
        inputs = self._load_kept(batch) if cached else self._load(batch)
        marks.append(self.now())
        with nullcontext() if sync else self.model.no_sync():
            loss = self.model(inputs).square().mean()
            marks.append(self.now())
            loss.backward()
        marks.append(self.now())
        self.optimizer.step()
        self.clock.spend(self.costs.update)
        self.optimizer.zero_grad()
        marks.append(self.now())
        return [after - before for before, after in pairwise(marks)]

    def _load(self, batch: int) -> torch.Tensor:
        """The next ``batch`` rows, shape (batch, width)."""
        if self.costs.shared:
            self.clock.decode(self.costs.decode * batch)
        else:
            self.clock.spend(self.costs.decode * batch)
        self.place = (self.place + batch) % (_ROWS - batch)
        return self.inputs[self.place : self.place + batch].clone()

    def _load_kept(self, batch: int) -> torch.Tensor:
        if self.kept is None or len(self.kept) != batch:
            self.kept = self._load(batch)
        return self.kept

    def _reduce(
        self,
        group: dist.ProcessGroup,
        bucket: dist.GradBucket,  # type: ignore[name-defined]  # the wrapper asks for this very name
    ) -> torch.futures.Future[torch.Tensor]:
        """Average a bucket of gradients; simulated, the ranks only meet, and each keeps its own gradients."""
        if group.size() > 1:
            if self.costs.simulated:
                self.clock.meet()
            self.clock.spend(self.costs.bucket)
        if not self.costs.simulated:
            reduced: torch.futures.Future[torch.Tensor] = allreduce_hook(group, bucket)
            return reduced
        kept: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        kept.set_result(bucket.buffer())
        return kept
