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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader

from ddplint.harness.prove.seen import Batch, Loaded, Parameters, Seen, Step, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREFIX = "module."


def observed(script: Path, folder: Path) -> Seen:
    """Run ``script`` in ``folder`` on this rank of a process group; returns what was seen of it."""
    seen = Seen()
    window = Step(0, 0)
    wrappers: list[DistributedDataParallel] = []
    plain: list[nn.Module] = []  # a copy of each model as it was before the training
    iterate, save, wrap = DataLoader.__iter__, torch.save, DistributedDataParallel.__init__

    def noted_pass(loader: DataLoader[Any]) -> Iterator[Any]:
        numbers = _numbers(loader.dataset)
        batches: list[Batch] = []
        seen.passes.append(batches)
        for batch in iterate(loader):
            batches.append([numbers[row] for row in _rows(batch[0])])
            window.batches += 1
            yield batch

    def noted_wrap(wrapper: DistributedDataParallel, module: nn.Module, *arguments: Any, **options: Any) -> None:
        wrap(wrapper, module, *arguments, **options)
        wrappers.append(wrapper)
        plain.append(copy.deepcopy(module))
        wrapper.register_comm_hook(None, lambda _, bucket: noted_sync(bucket))

    def noted_sync(bucket: Any) -> torch.futures.Future[torch.Tensor]:
        window.syncs += bucket.is_last()
        return allreduce_hook(dist.group.WORLD, bucket)  # type: ignore[arg-type]

    def noted_step(*_: object) -> None:
        seen.steps.append(copy.copy(window))
        window.batches = window.syncs = 0

    def noted_save(content: object, file: Any, *arguments: Any, **options: Any) -> None:
        save(content, file, *arguments, **options)
        seen.written.append(Written(os.fspath(file), *_read_back(file, content)))

    _replace(DataLoader, "__iter__", noted_pass)
    _replace(DistributedDataParallel, "__init__", noted_wrap)
    _replace(torch, "save", noted_save)
    register_optimizer_step_post_hook(noted_step)
    _run(script, folder)
    if not wrappers:
        raise RuntimeError("the program wraps no model")
    dist.barrier()
    if dist.get_rank() == 0:
        seen.loaded = _loaded(folder, plain[0])
    seen.parameters = _parameters(wrappers[0].module)
    return seen


def replayed(script: Path, folder: Path, passes: list[list[Batch]]) -> Parameters:
    """The parameters after ``script`` was run in ``folder`` on this one process, plainly.

    Its model is not wrapped, and its loader gives the samples of ``passes``, whatever its sampler says.
    """
    models: list[_Bare] = []
    left = iter(passes)

    def given_pass(loader: DataLoader[Any]) -> Iterator[Any]:
        for batch in next(left):
            yield loader.collate_fn([loader.dataset[number] for number in batch])

    def bare(module: nn.Module, *_: object, **__: object) -> _Bare:
        models.append(_Bare(module))
        return models[-1]

    _replace(DataLoader, "__iter__", given_pass)
    _replace(nn.parallel, "DistributedDataParallel", bare)
    _run(script, folder)
    return _parameters(models[0].module)


class _Bare(nn.Module):
    """Stands where the wrapper stood and adds nothing to the model."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any) -> Any:
        return self.module(*inputs)

    def no_sync(self) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()


def _run(script: Path, folder: Path) -> None:
    """Run ``script`` as torchrun would, in the process group there is."""
    rank, world = dist.get_rank(), dist.get_world_size()
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    os.chdir(folder)
    sys.argv = [str(script)]
    for name in ("init_process_group", "destroy_process_group"):
        _replace(dist, name, lambda *_, **__: None)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script), run_name="__main__")


def _replace(owner: object, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


def _numbers(dataset: Any) -> dict[tuple[float, ...], int]:
    """The number of each sample in ``dataset``, by its inputs."""
    return {row: number for number, sample in enumerate(dataset) for row in _rows(sample[0][None])}


def _rows(batch: torch.Tensor) -> list[tuple[float, ...]]:
    """The rows of ``batch`` (samples first), to be told from each other."""
    return [tuple(row) for row in batch.flatten(1).tolist()]


def _parameters(model: nn.Module) -> Parameters:
    return {name: parameter.detach().flatten().tolist() for name, parameter in model.named_parameters()}


def _read_back(file: Any, content: object) -> tuple[bool, bool]:
    """Whether ``file`` can be read, and whether it holds ``content``."""
    try:
        found = torch.load(file, weights_only=True)
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
            state = torch.load(path, weights_only=True)
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
