"""What stands for a row of a batch, and for all parameters of a model."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

ROWS = 1024  # rows of a batch that are hashed
_COLUMNS = 4  # tensors of a batch that are hashed
_LEAVES = 4096  # things in a batch that are looked at
_WHOLE = 64 * 1024  # bytes of a row up to which all of it is hashed
_SAMPLED = 8192  # elements hashed of a longer row
_LARGE = 1_000_000  # elements of a parameter up to which all of them are hashed
_DEPTH = 6


def rows(batch: object, count: int | None = None) -> list[str] | None:
    """A hash for each row of ``batch``, or None where it has no rows.

    The rows are those of the tensors whose first dimension is ``count``, or else that of the first tensor. Lists of
    texts and numbers count as columns where there is no tensor.
    """
    tensors = _tensors(batch)
    size = count if any(len(item) == count for item in tensors) else next((len(item) for item in tensors), None)
    if size is None:
        return _text_rows(batch)
    return _hashed([item for item in tensors if len(item) == size][:_COLUMNS])


def first_rows(arguments: object) -> list[str] | None:
    """A hash for each row of the first tensor in ``arguments``."""
    return _hashed(_tensors(arguments)[:1])


def digest(parameters: Iterable[Any]) -> str:
    """A hash of the values of ``parameters``, bit by bit; of large ones, of elements at even distances."""
    state = hashlib.blake2b(digest_size=8)
    for parameter in parameters:
        flat = parameter.detach().reshape(-1)
        state.update(_bytes(flat[:: len(flat) // _LARGE + 1]))
    return state.hexdigest()


def digest_of_gradients(parameters: Iterable[Any]) -> str:
    """As ``digest``, of the gradients; a parameter that has none counts too."""
    gradients = [parameter.grad for parameter in parameters]
    present = [gradient for gradient in gradients if gradient is not None]
    which = "".join("01"[gradient is not None] for gradient in gradients)
    return f"{digest(item.to_dense() if item.is_sparse else item for item in present)} {_hash(which.encode())}"


def _tensors(batch: object) -> list[Any]:
    """The tensors in ``batch`` that have a first dimension."""
    return [item for item in islice(_leaves(batch, 0), _LEAVES) if _is_tensor(item) and item.dim() > 0]


def _hashed(tensors: list[Any]) -> list[str] | None:
    """A hash for each row of ``tensors``, side by side ([size, ...] each); None where their bytes cannot be had."""
    try:
        columns = [_row_bytes(tensor) for tensor in tensors]
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return None  # sparse, nested, or without storage
    return [_hash(*parts) for parts in zip(*columns, strict=True)] if columns else None


def _leaves(item: object, depth: int) -> Iterator[Any]:
    if depth > _DEPTH:
        return
    if isinstance(item, Mapping):
        parts: Iterable[object] = item.values()
    elif isinstance(item, (list, tuple)):
        parts = item[:ROWS]
    elif is_dataclass(item) and not isinstance(item, type):
        parts = [getattr(item, field.name, None) for field in fields(item)]
    elif not _is_tensor(item) and hasattr(item, "__dict__"):
        parts = [part for part in vars(item).values() if _is_tensor(part)]
    else:
        yield item
        return
    for part in parts:
        yield from _leaves(part, depth + 1)


def _is_tensor(item: object) -> bool:
    from torch import Tensor

    return isinstance(item, Tensor)


def _row_bytes(tensor: Any) -> list[bytes]:
    """The bytes of each row of ``tensor`` ([size, ...]); of long rows, those of elements at even distances."""
    tensor = tensor.detach()[:ROWS].reshape(min(len(tensor), ROWS), -1)
    length = tensor.shape[1]
    if length * tensor.element_size() > _WHOLE:
        tensor = tensor[:, :: length // _SAMPLED]
    content = _bytes(tensor)
    width = len(content) // len(tensor) if len(tensor) else 0
    return [content[row * width : (row + 1) * width] for row in range(len(tensor))]


def _bytes(tensor: Any) -> bytes:
    tensor = tensor.cpu().contiguous()
    if not tensor.data_ptr():  # it is empty
        return b""
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def _text_rows(batch: object) -> list[str] | None:
    leaves = [item for item in islice(_leaves(batch, 0), _LEAVES) if isinstance(item, (str, int, float))]
    return [_hash(repr(item).encode()) for item in leaves[:ROWS]] or None


def _hash(*parts: bytes) -> str:
    state = hashlib.blake2b(digest_size=6)
    for part in parts:
        state.update(part)
    return state.hexdigest()
