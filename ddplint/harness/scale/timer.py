"""Notes when each optimizer step of a script ended, armed at the start of its interpreters.

It looks at nothing but the clock and the length of a batch: an observed run would be slower and tell another story,
so a process is never observed and timed at once.

Each rank that steps writes ``times-RANK-PID.jsonl``, a line a step: the end of the step (``time.monotonic()``), the
process's time on a processor, and since the step before: samples (None where no wrapper's forward was seen), seconds
waited for data (None where no loader was), seconds in the wrapper's forward.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ddplint.harness import guard
from ddplint.harness.watch.probe import importing, patching

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

TIMES = "DDPLINT_RUN_TIMES"  # the folder of the notes; its presence arms the timer


class _Step:
    """What happened since the step before."""

    def __init__(self) -> None:
        self.samples: int | None = None
        self.waited: float | None = None
        self.forward = 0.0


_step = _Step()
_files: dict[int, TextIO] = {}  # by process: a fork does not go on in its parent's file


def arm() -> None:
    """Time this process; one that does not import torch is left as it is."""
    importing.after("torch", _begin)
    importing.after("torch._dynamo.eval_frame", patching.leave_to_python)
    importing.install()


def _begin(_torch: ModuleType) -> None:
    patching.attempt("timer", _patch)


def _patch() -> None:
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.utils.data import dataloader

    patching.around(dataloader._BaseDataLoaderIter, "__next__", _next)  # noqa: SLF001
    patching.around(DistributedDataParallel, "forward", _forward)
    register_optimizer_step_post_hook(_stepped)


def _next(original: Callable[[Any], Any], iterator: Any) -> Any:
    started = time.monotonic()
    try:
        return original(iterator)
    finally:
        _step.waited = (_step.waited or 0.0) + time.monotonic() - started


def _forward(original: Callable[..., Any], model: Any, *inputs: Any, **keywords: Any) -> Any:
    import torch

    if not torch.is_grad_enabled():  # a validation's samples are not trained on
        return original(model, *inputs, **keywords)
    started = time.monotonic()
    outputs = original(model, *inputs, **keywords)
    _step.forward += time.monotonic() - started
    _step.samples = (_step.samples or 0) + _length((inputs, keywords))
    return outputs


def _length(value: Any) -> int:
    """The length of the first tensor in ``value``; 0 where there is none."""
    import torch

    if isinstance(value, torch.Tensor):
        return len(value) if value.dim() else 0
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return 0
    return next(filter(None, map(_length, value)), 0)


def _stepped(_optimizer: object, _arguments: object, _keywords: object) -> None:
    line = [time.monotonic(), time.process_time(), _step.samples, _step.waited, _step.forward]
    _step.__init__()  # type: ignore[misc]
    file = _files.get(os.getpid())
    if file is None:
        path = Path(os.environ[TIMES], f"times-{guard.rank_asked()}-{os.getpid()}.jsonl")
        # Unbuffered by lines: what a process wrote before it was killed is there.
        file = _files[os.getpid()] = path.open("w", encoding="utf-8", buffering=1)
    file.write(json.dumps(line) + "\n")
