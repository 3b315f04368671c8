"""Process groups: what is asked of NCCL is done by gloo. The wrapper refuses what it refuses on GPUs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ddplint.harness.watch.feigned import places

if TYPE_CHECKING:
    from collections.abc import Callable

_asked: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # the backend the program asked for, by group


def install() -> None:
    """Replace the functions that take a backend, and the wrapper's constructor."""
    if not dist.is_available():
        return
    _replace("init_process_group", _initialize(dist.init_process_group))
    _replace("new_group", _make_group(dist.new_group))
    _replace("get_backend", places.for_program(_tell_backend(dist.get_backend), dist.get_backend))
    _replace("is_nccl_available", places.for_program(lambda: True, dist.is_nccl_available))
    if hasattr(dist, "init_device_mesh"):
        _replace("init_device_mesh", _make_mesh(dist.init_device_mesh))
    _refuse_on_cpu()


def _replace(name: str, function: Callable[..., Any]) -> None:
    for module in (dist, dist.distributed_c10d, getattr(dist, "device_mesh", None)):
        places.replace(module, name, function)


def _gloo(backend: object) -> object:
    """``backend`` with gloo for NCCL: ``cpu:gloo,cuda:nccl`` becomes ``gloo``, as all tensors are on the CPU."""
    if isinstance(backend, str) and "nccl" in backend.lower():
        return "gloo"
    return backend


def _initialize(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def initialize(backend: Any = None, *args: Any, **kwargs: Any) -> None:
        for name in ("device_id", "pg_options"):
            kwargs.pop(name, None)
        real(_gloo(backend), *args, **kwargs)
        if backend is not None:
            _asked[dist.group.WORLD] = str(backend).lower()

    return initialize


def _make_group(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def make(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs = {name: value for name, value in kwargs.items() if name not in ("device_id", "pg_options")}
        group = real(ranks, timeout, _gloo(backend), *args[1:], **kwargs)
        asked = _asked.get(dist.group.WORLD) if backend is None else str(backend).lower()
        if asked is not None and isinstance(group, dist.ProcessGroup):
            _asked[group] = asked
        return group

    return make


def _tell_backend(real: Callable[..., Any]) -> Callable[..., Any]:
    def tell(group: Any = None) -> str:
        backend: str = real(group)
        return _asked.get(group or dist.group.WORLD, backend)

    return tell


def _make_mesh(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def make(device_type: str, *args: Any, **kwargs: Any) -> Any:
        return real("cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    return make


def _refuse_on_cpu() -> None:
    real = DistributedDataParallel.__init__

    @functools.wraps(real)
    def wrap(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        devices = {places.device(places.of(parameter)) for parameter in trained}
        on_cpu = devices == {torch.device("cpu")}
        if on_cpu and (device_ids or output_device):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
                f"output_device {output_device}, and module parameters {devices}."
            )
        if on_cpu and _asked.get(kwargs.get("process_group") or dist.group.WORLD) == "nccl":
            raise RuntimeError("No backend type associated with device type cpu")
        real(self, module, None, None, *args, **kwargs)

    DistributedDataParallel.__init__ = wrap  # type: ignore[method-assign]
    # It refuses SyncBatchNorm on the CPU.
    places.replace(DistributedDataParallel, "_passing_sync_batchnorm_handle", lambda _self, _module: None)
