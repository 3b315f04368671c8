"""Measures a script that torchrun starts: it is launched with each number of processes in turn, several times."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ddplint.harness import launch, scratch, show
from ddplint.harness.scale.timer import TIMES
from ddplint.harness.scale.windows import DATA, FORWARD, REST, WARM_UP, Window
from ddplint.harness.statuses import HarnessError, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FEWEST = 10  # steps after the warm-up
_SHORTEST = 0.3  # seconds they take


@dataclass(frozen=True)
class Step:
    """An optimizer step of a rank, as the timer wrote it down."""

    end: float
    cpu: float
    samples: int | None
    waited: float | None
    forward: float


def check(script: Sequence[str]) -> None:
    """Raise ``HarnessError`` where ``script``, a path and arguments, cannot be measured."""
    from ddplint.harness.watch.spawning import spawns  # which loads the linter

    if not script:
        raise HarnessError("--script needs a script: --script train.py --epochs 3")
    if not os.path.isfile(script[0]) or not os.access(script[0], os.R_OK):
        raise HarnessError(f"{script[0]}: no such file, or it cannot be read")
    if spawns(script[0]):
        raise HarnessError(
            f"{script[0]} starts its ranks itself, so their number cannot be set from outside: "
            "only a script for torchrun can be measured",
            Status.CANNOT_TELL,
        )


def measure(script: Sequence[str], sizes: Sequence[int], rounds: int, threads: int, timeout: float) -> list[Window]:
    """A window for each rank of each launch; ``timeout`` is in seconds, for one launch.

    Raises ``HarnessError`` where the script fails, or does not do what could be measured.
    """
    windows: list[Window] = []
    try:
        for number in range(rounds):
            for size in sizes:
                show.progress(f"round {number + 1} of {rounds}: {script[0]} with {size} processes")
                windows += _launch(script, size, number, threads, timeout)
    finally:
        show.progress("")
    return windows


def _launch(script: Sequence[str], size: int, number: int, threads: int, timeout: float) -> Iterator[Window]:
    with scratch.folder() as folder:
        times = folder / "times"
        times.mkdir()
        environment = {TIMES: str(times), "OMP_NUM_THREADS": str(threads)}
        program = launch.Program(script[0], tuple(script[1:]), size, timeout=timeout, environment=environment)
        ended = launch.run(program, folder, stdout=subprocess.DEVNULL)
        if ended.timed_out:
            text = f"{script[0]} did not end in {timeout:g} seconds with {_processes(size)}"
            raise HarnessError(text, Status.CANNOT_TELL)
        if ended.error is not None:
            raise HarnessError(f"{script[0]}, with {_processes(size)}: {ended.error}")
        files = sorted(times.glob("times-*.jsonl"), key=lambda path: int(path.name.split("-")[1]))
        steps = [_read(path) for path in files]
    for rank, taken in enumerate(shared(steps, size)):
        yield window(taken, size, rank, number)


def shared(steps: Sequence[Sequence[Step]], size: int) -> list[Sequence[Step]]:
    """The steps that all ranks made, by rank. Raises ``HarnessError`` where they do not suffice."""
    if not steps:
        raise _cannot("no optimizer step was seen", size)
    if len(steps) < size:
        raise _cannot(f"only {len(steps)} of {size} ranks made optimizer steps", size)
    number = min(map(len, steps))
    if number < WARM_UP + _FEWEST:
        raise _cannot(f"{number} optimizer steps are too few: {WARM_UP} to warm up and {_FEWEST} to measure", size)
    if any(all(step.samples is None for step in taken) for taken in steps):
        raise _cannot("no forward of a DistributedDataParallel model was seen in training", size)
    steady = min(taken[number - 1].end - taken[WARM_UP - 1].end for taken in steps)
    if steady < _SHORTEST:
        raise _cannot(f"{number} optimizer steps took {steady:.2f} s, {_SHORTEST} are the least: train longer", size)
    return [taken[:number] for taken in steps]


def window(steps: Sequence[Step], size: int, rank: int, number: int) -> Window:
    """What a rank did from the end of the warm-up to its last step, all that lies between them."""
    start, steady = steps[WARM_UP - 1], steps[WARM_UP:]
    seconds = steady[-1].end - start.end
    waited = sum(step.waited or 0.0 for step in steady)
    forward = sum(step.forward for step in steady)
    return Window(
        size=size,
        rank=rank,
        number=number,
        steps=len(steady),
        samples=sum(step.samples or 0 for step in steady),
        seconds=seconds,
        cpu=steady[-1].cpu - start.cpu,
        phases={DATA: waited, FORWARD: forward, REST: max(0.0, seconds - waited - forward)},
        loaded=any(step.waited is not None for step in steady),
    )


def _read(path: Path) -> list[Step]:
    return [Step(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _cannot(reason: str, size: int) -> HarnessError:
    return HarnessError(f"the script cannot be measured with {_processes(size)}: {reason}", Status.CANNOT_TELL)


def _processes(size: int) -> str:
    return f"{size} {'process' if size == 1 else 'processes'}"
