"""Loaders, samplers, and what a loader yields."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import hashing, sites, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_loaders = writing.Numbers()
_samplers = writing.Numbers()
_passes: dict[int, int] = {}  # loader's number: passes begun
_open: dict[int, weakref.ref[Any]] = {}  # by identity, the iterators of passes that are not over
_torch: Any = None
_TORCH_SAMPLERS = ("RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler")


def observe(torch: ModuleType) -> None:
    """Patch loaders and samplers."""
    global _torch  # noqa: PLW0603
    _torch = torch
    data: Any = torch.utils.data
    iterator = data.dataloader._BaseDataLoaderIter  # noqa: SLF001
    around(data.DataLoader, "__init__", _make_loader)
    around(data.DataLoader, "__iter__", _iterate)
    around(iterator, "_next_index", _next_index)
    around(iterator, "_reset", _reset)
    around(iterator, "__next__", _next)
    for name in _TORCH_SAMPLERS:
        around(getattr(data, name), "__init__", _make_sampler)
    around(data.DistributedSampler, "__init__", _make_sampler)
    around(data.DistributedSampler, "set_epoch", _set_epoch)
    _observe_subclasses(data.Sampler)


def _observe_subclasses(sampler: Any) -> None:
    """Patch the program's own samplers when their classes are made."""

    def init_subclass(cls: Any, **keywords: Any) -> None:
        super(sampler, cls).__init_subclass__(**keywords)
        if "__init__" in vars(cls):
            around(cls, "__init__", _make_sampler)
        if "set_epoch" in vars(cls):
            around(cls, "set_epoch", _set_epoch)

    sampler.__init_subclass__ = classmethod(init_subclass)  # type: ignore[arg-type]


def _make_loader(original: Callable[..., None], loader: Any, *arguments: Any, **keywords: Any) -> None:
    original(loader, *arguments, **keywords)
    _loader_made(loader)


@quiet
def _loader_made(loader: Any) -> None:
    where = sites.here(loader)
    iterable = isinstance(loader.dataset, _torch.utils.data.IterableDataset)
    sampler = None if iterable else _order_of(loader)
    if sampler is not None and _samplers.known(sampler) is None:
        _sampler_made(sampler, where if type(sampler).__module__.startswith("torch.") else [])
    writing.emit(
        "loader",
        loader=_loaders.of(loader),
        cls=_name(loader),
        sampler=None if sampler is None else _samplers.of(sampler),
        sampler_cls=None if sampler is None else _name(sampler),
        dataset_cls=_name(loader.dataset),
        length=None if iterable else _length(loader.dataset),
        part_of=None if iterable else _part_of(loader.dataset),
        batch_size=loader.batch_size,
        workers=loader.num_workers,
        iterable=iterable,
        sites=where,
    )


def _order_of(loader: Any) -> Any:
    """What gives ``loader`` its order: its sampler, or that of its batch sampler, or a batch sampler without one."""
    batches = loader.batch_sampler
    if batches is None:
        return loader.sampler
    return getattr(batches, "sampler", batches)


def _make_sampler(original: Callable[..., None], sampler: Any, *arguments: Any, **keywords: Any) -> None:
    original(sampler, *arguments, **keywords)
    _note_sampler(sampler)


@quiet
def _note_sampler(sampler: Any) -> None:
    where = sites.here(sampler)
    # The constructor of a base class has run: the event waits for that of the class itself, for what it sets.
    if where and _samplers.known(sampler) is None and not _is_being_made(sampler):
        _sampler_made(sampler, where)


def _is_being_made(sampler: Any) -> bool:
    return sites.is_inside_method_of(sampler)


def _sampler_made(sampler: Any, where: list[str]) -> None:
    distributed = isinstance(sampler, _torch.utils.data.DistributedSampler)
    shuffle = getattr(sampler, "shuffle", None)
    if isinstance(sampler, _torch.utils.data.SequentialSampler):
        shuffle = False
    elif isinstance(sampler, _torch.utils.data.RandomSampler):
        shuffle = True
    writing.emit(
        "sampler",
        sampler=_samplers.of(sampler),
        cls=_name(sampler),
        distributed=distributed,
        shuffle=shuffle if isinstance(shuffle, bool) else None,
        replicas=_number(getattr(sampler, "num_replicas", None)),
        sampler_rank=_number(getattr(sampler, "rank", None)),
        seed=_number(getattr(sampler, "seed", None)),
        sites=where,
    )


def _set_epoch(original: Callable[..., Any], sampler: Any, *arguments: Any, **keywords: Any) -> Any:
    result = original(sampler, *arguments, **keywords)
    _epoch_set(sampler, arguments[0] if arguments else keywords.get("epoch"))
    return result


@quiet
def _epoch_set(sampler: Any, epoch: object) -> None:
    if not sites.is_inside_method_of(sampler):
        writing.emit("set_epoch", sampler=_samplers.of(sampler), epoch=_number(epoch), sites=sites.here())


class _Pass:
    """What is known of an iteration over a loader; it hangs on the iterator."""

    def __init__(self) -> None:
        self.loader: int | None = None
        self.number: int | None = None
        self.dataset: Any = None
        self.by_index = False
        self.is_over = False
        self.indices: deque[Any] = deque()  # fetched and not yet yielded, in this order


def _pass_of(iterator: Any) -> _Pass:
    if not hasattr(iterator, "_ddplint_pass"):
        iterator._ddplint_pass = _Pass()  # noqa: SLF001
    found: _Pass = iterator._ddplint_pass  # noqa: SLF001
    return found


def _iterate(original: Callable[..., Any], loader: Any, *arguments: Any, **keywords: Any) -> Any:
    iterator = original(loader, *arguments, **keywords)
    _pass_begun(loader, iterator)
    return iterator


@quiet
def _pass_begun(loader: Any, iterator: Any) -> None:
    current = _pass_of(iterator)
    current.loader = _loaders.of(loader)
    current.number = _passes.get(current.loader, 0)
    current.dataset = loader.dataset
    current.by_index = not isinstance(loader.dataset, _torch.utils.data.IterableDataset) and (
        loader.num_workers == 0 or getattr(loader, "in_order", True)
    )
    _passes[current.loader] = current.number + 1
    current.is_over = False
    key = id(iterator)
    _open[key] = weakref.ref(iterator, lambda _: _pass_left(key, current))


@quiet
def _pass_left(key: int, current: _Pass) -> None:
    """The iterator is gone, which a loop lets go of on the line that leaves it."""
    _open.pop(key, None)
    if not current.is_over and current.loader is not None:
        writing.emit("pass_left", loader=current.loader, number=current.number, sites=sites.here())


def _next_index(original: Callable[..., Any], iterator: Any, *arguments: Any, **keywords: Any) -> Any:
    index = original(iterator, *arguments, **keywords)
    _index_fetched(iterator, index)
    return index


@quiet
def _index_fetched(iterator: Any, index: Any) -> None:
    _pass_of(iterator).indices.append(index)


def _reset(original: Callable[..., Any], iterator: Any, *arguments: Any, **keywords: Any) -> Any:
    _forget_indices(iterator)
    return original(iterator, *arguments, **keywords)


@quiet
def _forget_indices(iterator: Any) -> None:
    _pass_of(iterator).indices.clear()


def _next(original: Callable[..., Any], iterator: Any, *arguments: Any, **keywords: Any) -> Any:
    try:
        batch = original(iterator, *arguments, **keywords)
    except StopIteration:
        _pass_ended(iterator)
        raise
    _batch_yielded(iterator, batch)
    return batch


@quiet
def _pass_ended(iterator: Any) -> None:
    current = _pass_of(iterator)
    current.is_over = True
    if current.loader is not None:
        writing.emit("pass_end", loader=current.loader, number=current.number)


@quiet
def _batch_yielded(iterator: Any, batch: Any) -> None:
    current = _pass_of(iterator)
    index = current.indices.popleft() if current.indices else None
    if current.loader is None:
        return  # the program asked for the iterator itself
    known = _data_set_indices(index, current.dataset) if current.by_index else None
    writing.emit(
        "batch",
        loader=current.loader,
        number=current.number,
        index=known,
        rows=hashing.rows(batch, None if known is None else len(known)),
        inputs=hashing.first_rows(batch),
        grad=_torch.is_grad_enabled(),
    )


def _data_set_indices(index: Any, dataset: Any) -> list[int] | None:
    """``index`` (one, or a batch of them) as numbers of the data set under all ``Subset``; None where it is none."""
    try:
        found = [int(number) for number in index] if isinstance(index, (list, tuple)) else [int(index)]
        while isinstance(dataset, _torch.utils.data.Subset):
            found = [int(dataset.indices[number]) for number in found]
            dataset = dataset.dataset
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return found[: hashing.ROWS]


def _part_of(dataset: Any) -> int | None:
    """The length of the data set under all ``Subset``; None where ``dataset`` is none."""
    if not isinstance(dataset, _torch.utils.data.Subset):
        return None
    while isinstance(dataset, _torch.utils.data.Subset):
        dataset = dataset.dataset
    return _length(dataset)


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001  # the program's own code
        return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _name(item: object) -> str:
    cls = type(item)
    return f"{cls.__module__}.{cls.__qualname__}"
