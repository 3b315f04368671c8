"""The program's own collectives: where the ranks of a group meet."""

from __future__ import annotations

import inspect
from itertools import count
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import graphs, patching, sites, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_COLLECTIVES = (
    "all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "broadcast_object_list", "all_gather",
    "all_gather_object", "all_gather_into_tensor", "all_gather_single", "all_gather_coalesced", "gather",
    "gather_object", "scatter", "scatter_object_list", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_single", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier", "new_group",
)  # fmt: skip
_MESSAGES = (
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list",
)  # fmt: skip

_torch: Any = None
_numbers = count()


def observe(torch: ModuleType) -> None:
    """Patch the collectives and the end of a process group."""
    global _torch  # noqa: PLW0603
    _torch = torch
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        for name in _COLLECTIVES:
            if hasattr(module, name):
                around(module, name, _meeting(name, getattr(module, name)))
        for name in _MESSAGES:
            around(module, name, _sending(name))
        around(module, "destroy_process_group", _destroy)


def _meeting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands round the collective ``function``; one that another makes is part of that one."""
    signature = inspect.signature(function)

    def meet(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        if patching.is_inside("collective"):
            return original(*arguments, **keywords)
        begun = _begun(name, signature, arguments, keywords)
        with patching.inside("collective"):
            result = original(*arguments, **keywords)
        if begun:
            _ended(name)
        return result

    return meet


@quiet
def _begun(name: str, signature: inspect.Signature, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    dist = _torch.distributed
    bound = signature.bind_partial(*arguments, **keywords).arguments
    group = bound.get("group")
    if not dist.is_initialized() or dist.get_rank(group) < 0:
        return False  # this rank is not in the group, and the call does nothing
    members = _members(group)
    if bound.get("use_local_synchronization"):
        members = sorted(bound.get("ranks") or members)  # a new group that its own members make alone
    number = next(_numbers)
    given = bound.get("tensor") if name == "all_reduce" else None
    writing.emit(
        "collective",
        op=name,
        number=number,
        members=members,
        graph=graphs.note(number, given),
        sites=sites.here(),
    )
    return True


@quiet
def _ended(name: str) -> None:
    writing.emit("collective_end", op=name)


def _sending(name: str) -> Callable[..., Any]:
    def send(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        _sent(name)
        return original(*arguments, **keywords)

    return send


@quiet
def _sent(name: str) -> None:
    if not patching.is_inside("collective"):
        writing.emit("message", op=name, sites=sites.here())


def _members(group: Any) -> list[int]:
    dist = _torch.distributed
    return sorted(dist.get_process_group_ranks(group if group is not None else dist.group.WORLD))


def _destroy(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    if not arguments and not keywords:
        _group_left()
    return original(*arguments, **keywords)


@quiet
def _group_left() -> None:
    writing.emit("group_end", sites=sites.here())
