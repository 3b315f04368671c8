"""Runs a program on a rank and notes from outside what it does; the program itself knows nothing of it.

What is replaced in torch stays so: the process is a forked rank, which ends afterwards.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import runpy
import sys
import time
import warnings
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import FileStore  # type: ignore[attr-defined]
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader, Subset

from ddplint.harness.prove.seen import Batch, Loaded, Parameters, Seen, Step, Sum, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREFIX = "module."
_LIMIT = timedelta(seconds=60)  # for ranks to be done
_OUT_OF_TIME = ("Timed out", "timed out", "timeout")  # what gloo says of a call that nobody answered
_LEFT = ("Connection closed", "Connection reset", "Broken pipe")  # and on the ranks beside that one
_UNSEEN = "an autograd kernel was not registered"  # torch's warning of what goes backward through a collective

_read = torch.load


def observed(script: Path, folder: Path, rank: int, world: int, late: float = 0.0) -> Seen:
    """Run ``script`` in ``folder`` as this ``rank`` of so many; returns what was seen of it.

    A file that is there is written to only after ``late`` seconds.
    """
    seen = Seen()
    window = Step(0, 0)
    wrappers: list[DistributedDataParallel] = []
    plain: list[nn.Module] = []  # a copy of each model as it was before the training
    iterate, save, load, wrap = DataLoader.__iter__, torch.save, torch.load, DistributedDataParallel.__init__
    all_reduce, warn = dist.all_reduce, warnings.showwarning

    def noted_pass(loader: DataLoader[Any]) -> Iterator[Any]:
        numbers = _numbers(_whole(loader))
        batches: list[Batch] = []
        trains = torch.is_grad_enabled()
        (seen.passes if trains else seen.checks).append(batches)
        for batch in iterate(loader):
            batches.append([numbers[row] for row in _rows(batch[0])])
            window.batches += trains
            yield batch

    def noted_wrap(wrapper: DistributedDataParallel, module: nn.Module, *arguments: Any, **options: Any) -> None:
        wrap(wrapper, module, *arguments, **options)
        wrappers.append(wrapper)
        plain.append(copy.deepcopy(module))
        wrapper.register_comm_hook(None, lambda _, bucket: noted_sync(bucket))

    def noted_sync(bucket: Any) -> torch.futures.Future[torch.Tensor]:
        window.syncs += bucket.is_last()
        return allreduce_hook(dist.group.WORLD, bucket)  # type: ignore[arg-type]

    def noted_step(optimizer: torch.optim.Optimizer, *_: object) -> None:
        seen.steps.append(replace(window, gradients=_gradients(optimizer)))
        window.batches = window.syncs = 0

    def noted_sum(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        caller = sys._getframe(1)  # noqa: SLF001
        if caller.f_code.co_filename != str(script):  # torch's own
            return all_reduce(tensor, *arguments, **options)
        seen.sums.append(Sum(caller.f_lineno, tensor.sum().item()))
        work = all_reduce(tensor, *arguments, **options)
        seen.sums[-1].got = tensor.sum().item()
        return work

    def noted_save(content: object, file: Any, *arguments: Any, **options: Any) -> None:
        if late and Path(file).exists():
            time.sleep(late)
        save(content, file, *arguments, **options)
        seen.written.append(Written(os.fspath(file), *_read_back(file, content)))

    def noted_load(*arguments: Any, **options: Any) -> Any:
        content = load(*arguments, **options)
        seen.read.append(_plain(content))
        return content

    def noted_warning(message: Warning | str, *arguments: Any) -> None:
        if _UNSEEN in str(message):
            seen.warned = True
        else:
            warn(message, *arguments)

    _replace(DataLoader, "__iter__", noted_pass)
    _replace(DistributedDataParallel, "__init__", noted_wrap)
    _replace(torch, "save", noted_save)
    _replace(torch, "load", noted_load)
    _replace(dist, "all_reduce", noted_sum)
    _replace(warnings, "showwarning", noted_warning)
    register_optimizer_step_post_hook(noted_step)
    # No barriers, which would answer the call of a rank that still waits for another one.
    store = FileStore(str(folder.with_suffix(".store")), world)
    _meet(store, "begin", rank, world)
    try:
        _run(script, folder, rank, world)
    except RuntimeError as error:
        if not any(words in str(error) for words in (*_OUT_OF_TIME, *_LEFT)):
            raise
        seen.waited = _line(error, script)
    if not wrappers:
        raise RuntimeError("the program wraps no model")
    _meet(store, "end", rank, world)
    if rank == 0:
        seen.loaded = _loaded(folder, plain[0])
    seen.parameters = _parameters(wrappers[0].module)
    return seen


def replayed(script: Path, folder: Path, passes: list[list[Batch]]) -> Seen:
    """The steps and parameters when ``script`` was run in ``folder`` on this one process, plainly.

    Its model is not wrapped, and its loader gives the samples of ``passes``, whatever its sampler says.
    """
    seen = Seen()
    models: list[_Bare] = []
    left = iter(passes)
    iterate = DataLoader.__iter__

    def given_pass(loader: DataLoader[Any]) -> Iterator[Any]:
        if torch.is_grad_enabled():
            dataset = _whole(loader)
            yield from (loader.collate_fn([dataset[number] for number in batch]) for batch in next(left, []))
        else:
            yield from iterate(loader)

    def bare(module: nn.Module, *_: object, **__: object) -> _Bare:
        models.append(_Bare(module))
        return models[-1]

    def noted_step(optimizer: torch.optim.Optimizer, *_: object) -> None:
        seen.steps.append(Step(0, 0, _gradients(optimizer)))

    _replace(DataLoader, "__iter__", given_pass)
    warnings.filterwarnings("ignore", f".*{_UNSEEN}")
    _replace(nn.parallel, "DistributedDataParallel", bare)
    register_optimizer_step_post_hook(noted_step)
    _run(script, folder, 0, 1)
    seen.parameters = _parameters(models[0].module)
    return seen


class _Bare(nn.Module):
    """Stands where the wrapper stood and adds nothing to the model."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any) -> Any:
        return self.module(*inputs)

    def no_sync(self) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()


def _meet(store: FileStore, name: str, rank: int, world: int) -> None:
    """Wait until all ranks have come to what is called ``name``."""
    store.set(f"{name}-{rank}", "")
    store.wait([f"{name}-{other}" for other in range(world)], _LIMIT)


def _run(script: Path, folder: Path, rank: int, world: int) -> None:
    """Run ``script`` as torchrun would; its process group outlives it."""
    start = dist.init_process_group
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    os.chdir(folder)
    sys.argv = [str(script)]

    def joined(*arguments: Any, **options: Any) -> None:
        options |= {"init_method": f"file://{folder.with_suffix('.meeting')}", "rank": rank, "world_size": world}
        start(*arguments, **options)

    _replace(dist, "init_process_group", joined)
    _replace(dist, "destroy_process_group", lambda *_, **__: None)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script), run_name="__main__")


def _replace(owner: object, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


def _line(error: BaseException, script: Path) -> int:
    """The line of ``script`` that ``error`` came from."""
    found, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(script):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _whole(loader: DataLoader[Any]) -> Any:
    """The data set that ``loader`` gives samples of, perhaps not all."""
    dataset: Any = loader.dataset
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return dataset


def _numbers(dataset: Any) -> dict[tuple[float, ...], int]:
    """The number of each sample in ``dataset``, by its inputs."""
    return {row: number for number, sample in enumerate(dataset) for row in _rows(sample[0][None])}


def _rows(batch: torch.Tensor) -> list[tuple[float, ...]]:
    """The rows of ``batch`` (samples first), to be told from each other."""
    return [tuple(row) for row in batch.flatten(1).tolist()]


def _gradients(optimizer: torch.optim.Optimizer) -> list[float]:
    """The gradients that ``optimizer`` has stepped on, one after another."""
    parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
    return [number for one in parameters if one.grad is not None for number in one.grad.flatten().tolist()]


def _parameters(model: nn.Module) -> Parameters:
    return _plain(dict(model.named_parameters()))


def _plain(state: dict[str, Any]) -> Parameters:
    return {name: value.detach().flatten().tolist() for name, value in state.items() if isinstance(value, torch.Tensor)}


def _read_back(file: Any, content: object) -> tuple[bool, bool]:
    """Whether ``file`` can be read, and whether it holds ``content``."""
    try:
        found = _read(file, weights_only=True)
    except Exception:  # noqa: BLE001  # a broken file is refused in many ways
        return False, False
    return True, _equal(found, content)


def _equal(one: object, other: object) -> bool:
    """Whether two contents of a checkpoint (tensors and plain values in dictionaries) are equal."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return one == other


def _loaded(folder: Path, model: nn.Module) -> Loaded | None:
    """What becomes of the state dict that was left in ``folder``, if one was, when ``model`` loads it."""
    for path in sorted(folder.glob("*.pt")):
        with contextlib.suppress(Exception):  # a broken file is refused in many ways
            state = _read(path, weights_only=True)
            if all(isinstance(value, torch.Tensor) for value in state.values()):
                return _load(state, model)
    return None


def _load(state: dict[str, torch.Tensor], model: nn.Module) -> Loaded:
    before = copy.deepcopy(model.state_dict())
    try:
        copy.deepcopy(model).load_state_dict(state)
        refused = False
    except RuntimeError:
        refused = True
    model.load_state_dict(state, strict=False)
    after = model.state_dict()
    return Loaded(
        keys=len(state),
        prefixed=sum(key.startswith(_PREFIX) for key in state),
        refused=refused,
        tensors=len(before),
        changed=sum(not torch.equal(before[name], after[name]) for name in before),
    )
