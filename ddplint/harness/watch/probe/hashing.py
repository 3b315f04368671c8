"""What stands for a row of a batch, and for all parameters of a model."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

ROWS = 1024  # rows of a batch that are hashed
_TENSORS = 4  # tensors of a batch that are hashed
_WHOLE = 64 * 1024  # bytes of a row up to which all of it is hashed
_SAMPLED = 8192  # elements hashed of a longer row
_DEPTH = 6


def rows(batch: object, count: int | None = None) -> list[str] | None:
    """A hash for each row of ``batch``, or None where it has no rows.

    The rows are those of the tensors whose first dimension is ``count``, or else that of the first tensor. Lists of
    texts and numbers count as columns where there is no tensor.
    """
    tensors = [item for item in _leaves(batch, 0) if _is_tensor(item) and item.dim() > 0]
    size = count if any(len(item) == count for item in tensors) else next((len(item) for item in tensors), None)
    if size is None:
        return _text_rows(batch)
    columns = [_row_bytes(item, size) for item in tensors if len(item) == size][:_TENSORS]
    return [_hash(*parts) for parts in zip(*columns, strict=True)]


def first_rows(arguments: object) -> list[str] | None:
    """A hash for each row of the first tensor in ``arguments``."""
    for item in _leaves(arguments, 0):
        if _is_tensor(item) and item.dim() > 0:
            return [_hash(part) for part in _row_bytes(item, len(item))]
    return None


def digest(parameters: Iterable[Any]) -> str:
    """A hash of the values of ``parameters``, bit by bit."""
    state = hashlib.blake2b(digest_size=8)
    for parameter in parameters:
        state.update(_bytes(parameter))
    return state.hexdigest()


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


def _row_bytes(tensor: Any, size: int) -> list[bytes]:
    """The bytes of each row of ``tensor`` ([size, ...]); of long rows, those of elements at even distances."""
    tensor = tensor.detach()[:ROWS].reshape(min(size, ROWS), -1)
    length = tensor.shape[1]
    if length * tensor.element_size() > _WHOLE:
        tensor = tensor[:, :: length // _SAMPLED]
    content = _bytes(tensor)
    width = len(content) // max(len(tensor), 1)
    return [content[start : start + width] for start in range(0, width * len(tensor), width)] if width else []


def _bytes(tensor: Any) -> bytes:
    tensor = tensor.detach().cpu().contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def _text_rows(batch: object) -> list[str] | None:
    leaves = [item for item in _leaves(batch, 0) if isinstance(item, (str, int, float))]
    return [_hash(repr(item).encode()) for item in leaves[:ROWS]] or None


def _hash(*parts: bytes) -> str:
    state = hashlib.blake2b(digest_size=6)
    for part in parts:
        state.update(part)
    return state.hexdigest()
