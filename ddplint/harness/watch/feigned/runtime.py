"""``torch.cuda`` and ``torch.accelerator`` as a program finds them on a machine with GPUs."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from ddplint.harness.watch.feigned import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

_NAME = "fake CUDA"
_MEMORY = 80 << 30  # bytes of each GPU

# Functions of torch.cuda and its submodules that have nothing to do.
_NOTHING = (
    "_lazy_init", "_sleep", "change_current_allocator", "empty_cache", "init", "ipc_collect", "manual_seed",
    "manual_seed_all", "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "seed", "seed_all", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "set_stream", "set_sync_debug_mode", "synchronize",
)  # fmt: skip
_ZERO = (
    "clock_rate", "device_memory_used", "get_sync_debug_mode", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "memory_allocated", "memory_cached", "memory_reserved", "memory_usage", "power_draw",
    "temperature", "utilization",
)  # fmt: skip
_IMPOSSIBLE = ("CUDAGraph", "CUDAPluggableAllocator", "ExternalStream", "MemPool", "graph", "make_graphed_callables")
_TYPES = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")


def install() -> None:
    """Replace what asks the driver."""
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random):
        for name in _NOTHING:
            _replace(module, name, _nothing)
        for name in _ZERO:
            _replace(module, name, _zero)
        for name in _IMPOSSIBLE:
            _replace(module, name, _impossible(name))
        for name, answer in _answers().items():
            _replace(module, name, answer)
    for name in ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported"):
        if hasattr(torch.cuda, name):
            setattr(torch.cuda, name, places.for_program(_yes, getattr(torch.cuda, name)))
    torch.cuda.device_count = places.for_program(places.count, torch.cuda.device_count)
    for kind in _TYPES:
        places.replace(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    for name, answer in (("range_push", _zero), ("range_pop", _zero), ("mark", _nothing), ("range", _context)):
        _replace(torch.cuda.nvtx, name, answer)
    for name, answer in (("start", _nothing), ("stop", _nothing), ("init", _nothing), ("profile", _context)):
        _replace(torch.cuda.profiler, name, answer)
    _replace(torch.cuda.nccl, "version", lambda: (2, 27, 0))
    # A loader that is to pin memory asks within torch, and is told that there is nothing to pin it for.
    warnings.filterwarnings("ignore", "'pin_memory' argument is set as true but no accelerator")
    torch.Tensor.record_stream = _nothing  # type: ignore[method-assign]  # it takes none but torch's own streams
    _feign_accelerator()


_stand_ins: dict[Any, Callable[..., Any]] = {}


def _replace(owner: Any, name: str, answer: Any) -> None:
    """Let ``answer`` stand in for ``owner``'s attribute ``name``, where this torch has it.

    A function gets a stand-in of its own, as torch's compiler knows functions by identity.
    """
    real = getattr(owner, name, None)
    if isinstance(real, type):
        setattr(owner, name, answer)
    elif callable(real) and real not in _stand_ins.values():
        if real not in _stand_ins:

            @functools.wraps(real)
            def stand_in(*args: Any, **kwargs: Any) -> Any:
                return answer(*args, **kwargs)

            _stand_ins[real] = stand_in
        setattr(owner, name, _stand_ins[real])


def _answers() -> dict[str, object]:
    return {
        "can_device_access_peer": lambda _device, _peer: True,
        "current_device": lambda: places.current.number,
        "current_stream": Stream,
        "default_stream": Stream,
        "device": Current,
        "device_of": lambda tensor: Current(places.of(tensor)),
        "Event": Event,
        "get_arch_list": lambda: ["sm_80"],
        "get_device_capability": lambda _device=None: (8, 0),
        "get_device_name": lambda _device=None: _NAME,
        "get_device_properties": lambda _device=None: SimpleNamespace(
            name=_NAME, major=8, minor=0, total_memory=_MEMORY, multi_processor_count=108, warp_size=32, uuid=_NAME
        ),
        "get_rng_state": lambda _device=None: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(places.count())],
        "initial_seed": torch.initial_seed,
        "mem_get_info": lambda _device=None: (_MEMORY, _MEMORY),
        "memory_snapshot": list,
        "memory_stats": lambda _device=None: {},
        "memory_summary": lambda *_args, **_kwargs: _NAME,
        "set_device": _set_device,
        "Stream": Stream,
        "stream": StreamContext,
        "StreamContext": StreamContext,
    }


def _feign_accelerator() -> None:
    accelerator = getattr(torch, "accelerator", None)  # torch 2.6
    answers: dict[str, Any] = {
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_idx": lambda: places.current.number,
        "current_device_index": lambda: places.current.number,
        "current_stream": Stream,
        "device_count": places.count,
        "device_index": Current,
        "empty_cache": _nothing,
        "get_memory_info": lambda _device=None: (_MEMORY, _MEMORY),
        "is_available": _yes,
        "max_memory_allocated": _zero,
        "max_memory_reserved": _zero,
        "memory_allocated": _zero,
        "memory_reserved": _zero,
        "memory_stats": lambda _device=None: {},
        "reset_accumulated_memory_stats": _nothing,
        "reset_peak_memory_stats": _nothing,
        "set_device_idx": _set_device,
        "set_device_index": _set_device,
        "set_stream": _nothing,
        "synchronize": _nothing,
    }
    for name, answer in answers.items():
        if hasattr(accelerator, name):
            setattr(accelerator, name, places.for_program(answer, getattr(accelerator, name)))


class Stream:
    """A stream whose work is done as soon as it is asked for."""

    def __init__(self, device: object = None, *_args: object, **_kwargs: object) -> None:
        self.device = places.device(_number(device))
        self.cuda_stream = self.stream_id = self.priority = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        """Record ``event``, or a new one."""
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        """All work is done."""
        return True

    def synchronize(self, *_args: object) -> None:
        """Nothing to wait for."""

    wait_event = wait_stream = synchronize


class Event:
    """An event that has happened as soon as it is recorded."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        self.recorded = time.perf_counter()

    def record(self, _stream: object = None) -> None:
        """Note the time."""
        self.recorded = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``."""
        return (end.recorded - self.recorded) * 1000

    def query(self) -> bool:
        """It has happened."""
        return True

    def synchronize(self, *_args: object) -> None:
        """Nothing to wait for."""

    wait = synchronize


class Current:
    """Makes ``device`` the current one inside; None, or one that is no GPU, changes nothing."""

    def __init__(self, device: object) -> None:
        self.idx = _number(device)
        self.prev_idx = 0

    def __enter__(self) -> None:
        self.prev_idx = places.current.number
        places.current.number = self.idx

    def __exit__(self, *_error: object) -> None:
        places.current.number = self.prev_idx


def _number(device: object) -> int:
    place = places.named(device)
    return places.current.number if place is None or place < 0 else place


def _set_device(device: object) -> None:
    places.current.number = _number(device)


class StreamContext(contextlib.nullcontext[object]):
    """Work inside it is the stream's."""


@contextlib.contextmanager
def _context(*_args: object, **_kwargs: object) -> Iterator[None]:
    yield


def _nothing(*_args: object, **_kwargs: object) -> None:
    pass


def _zero(*_args: object, **_kwargs: object) -> int:
    return 0


def _yes(*_args: object, **_kwargs: object) -> bool:
    return True


def _impossible(name: str) -> type:
    """A class, as what it stands in for may be: programs name it in annotations."""

    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise RuntimeError(f"torch.cuda.{name} is not possible on fake CUDA")

    return type(name, (), {"__new__": refuse})
