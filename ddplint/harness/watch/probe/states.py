"""State dicts, and what is saved and loaded."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ddplint.harness.watch.probe import files, patching, sites, wrapper, writing
from ddplint.harness.watch.probe.patching import around, quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_COMPILED = "_orig_mod."  # stands before the keys of a compiled module
_FILES = ("f", "file", "filename")  # the parameters that take a file
_DEPTH = 6
_PARTS = 10_000  # things in a saved object that are looked at

_torch: Any = None
_states: list[int] = []  # the wrapper's number, by the state's
_tensors: dict[int, tuple[weakref.ref[Any], int]] = {}  # by identity, those of state dicts: itself, the state's number


def observe(torch: ModuleType) -> None:
    """Patch state dicts, saving and loading."""
    global _torch  # noqa: PLW0603
    _torch = torch
    around(torch.nn.Module, "state_dict", _state_dict)
    around(torch.nn.Module, "load_state_dict", _load_state_dict)
    for name in ("named_parameters", "named_buffers", "named_modules"):
        around(torch.nn.parallel.DistributedDataParallel, name, _name_parts)
    for module in (torch, torch.serialization):
        around(module, "save", _saving("torch.save", 1))
        around(module, "load", _load)
    around(pickle, "dump", _saving("pickle.dump", 1))
    around(torch.jit, "save", _saving("torch.jit.save", 1))
    for scripted in (torch.jit.ScriptModule, torch.jit.RecursiveScriptModule):
        around(scripted, "save", _saving("ScriptModule.save", 1))


def observe_safetensors(module: ModuleType) -> None:
    """Patch ``safetensors.torch``."""
    around(module, "save_file", _saving("safetensors.torch.save_file", 1))


def _state_dict(original: Callable[..., Any], module: Any, *arguments: Any, **keywords: Any) -> Any:
    if patching.is_inside("state_dict"):
        return original(module, *arguments, **keywords)
    with patching.inside("state_dict"):
        result = original(module, *arguments, **keywords)
    _state_taken(module, result)
    return result


@quiet
def _state_taken(module: Any, state: Any) -> None:
    model = wrapper.number_of(module)
    if model is None:
        return
    number = len(_states)
    _states.append(model)
    for key in [key for key, (tensor, _) in _tensors.items() if tensor() is None]:
        del _tensors[key]
    for tensor in state.values():
        if isinstance(tensor, _torch.Tensor):
            _tensors[id(tensor)] = (weakref.ref(tensor), number)
    writing.emit("state", model=model, state=number, sites=sites.here(module))


def _name_parts(original: Callable[..., Any], module: Any, *arguments: Any, **keywords: Any) -> Any:
    _parts_named(module)
    return original(module, *arguments, **keywords)


@quiet
def _parts_named(module: Any) -> None:
    model = wrapper.number_of(module)
    if model is not None and sites.is_next():
        writing.emit("names", model=model, sites=sites.here(module))


def _load_state_dict(original: Callable[..., Any], module: Any, *arguments: Any, **keywords: Any) -> Any:
    with patching.inside("state_dict"):
        result = original(module, *arguments, **keywords)
    strict = arguments[1] if len(arguments) > 1 else keywords.get("strict", True)
    _state_loaded(module, strict, result)
    return result


@quiet
def _state_loaded(module: Any, strict: object, result: Any) -> None:
    writing.emit(
        "load_state",
        model=wrapper.number_of(module),
        strict=bool(strict),
        missing=len(getattr(result, "missing_keys", ())),
        unexpected=len(getattr(result, "unexpected_keys", ())),
        sites=sites.here(),
    )


def _saving(via: str, place: int) -> Callable[..., Any]:
    """What stands round a function that saves its first argument to the file at ``place``."""

    def save(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        if patching.is_inside("save"):
            return original(*arguments, **keywords)
        item = arguments[0] if arguments else next(iter(keywords.values()), None)
        file = (
            arguments[place]
            if len(arguments) > place
            else next((keywords[name] for name in _FILES if name in keywords), None)
        )
        _saved(via, item, file)
        with patching.inside("save"):
            return original(*arguments, **keywords)

    return save


@quiet
def _saved(via: str, item: Any, file: Any) -> None:
    where = sites.here()
    if not where and threading.current_thread() is threading.main_thread():
        return  # torch's own, as a spawned process hands its error on
    parts = list(_parts(item))
    writing.emit(
        "save",
        via=via,
        path=_path(file),
        prefixed=list(_prefixed(parts)),
        wrapper=any(wrapper.number_of(part) is not None for _, part in parts),
        tensors=any(isinstance(part, (_torch.Tensor, _torch.nn.Module)) for _, part in parts),
        through=sites.through(),
        sites=where,
    )


def _load(original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    if not patching.is_inside("load"):
        _loaded(arguments[0] if arguments else keywords.get("f"))
    with patching.inside("load"):
        return original(*arguments, **keywords)


@quiet
def _loaded(file: Any) -> None:
    writing.emit("load", path=_path(file), sites=sites.here())


def _path(file: Any) -> str | None:
    """The path that ``file`` names, or is open at; None for what is no file of the program's results."""
    return files.result(file if isinstance(file, (str, bytes, os.PathLike)) else getattr(file, "name", None))


def _prefixed(parts: list[tuple[str, Any]]) -> Iterator[dict[str, object]]:
    """The state dicts among the ``parts`` whose keys begin with ``module.``."""
    for at, part in parts:
        if not isinstance(part, Mapping):
            continue
        state = {key: value for key, value in part.items() if isinstance(key, str)}
        keys = [key for key in state if key.removeprefix(_COMPILED).startswith("module.")]
        if keys and any(isinstance(state[key], _torch.Tensor) for key in keys):
            number, model = _origin(state, keys)
            yield {"at": at, "keys": len(keys), "of": len(part), "model": model, "state": number}


def _origin(state: Mapping[str, Any], keys: list[str]) -> tuple[int | None, int | None]:
    """The ``state`` event and the wrapper that a state dict with these prefixed ``keys`` is from."""
    for key in keys:
        tensor, number = _tensors.get(id(state[key]), (None, -1))
        if tensor is not None and tensor() is state[key]:
            return number, _states[number]
    # A copy: the last state, or else wrapper, with the same names and shapes.
    shapes = {key.removeprefix(_COMPILED): getattr(state[key], "shape", None) for key in keys}
    fitting = [wrapped.number for wrapped in wrapper.all_wrapped() if _fits(shapes, _shapes(wrapped.wrapper))]
    taken = [number for number, model in enumerate(_states) if model in fitting]
    if taken:
        return taken[-1], _states[taken[-1]]
    return None, fitting[-1] if fitting else None


def _fits(shapes: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a dict of such ``shapes`` may be a copy of a wrapper's: of all its parameters, or of some alone."""
    return own.items() <= shapes.items() or shapes.items() <= own.items()


def _shapes(module: Any) -> dict[str, Any]:
    return {name: parameter.shape for name, parameter in module.named_parameters()}


def _parts(item: Any) -> Iterator[tuple[str, Any]]:
    """``item`` and what is in it, each with the way to it."""
    return islice(_parts_below(item, "", 0), _PARTS)


def _parts_below(item: Any, at: str, depth: int) -> Iterator[tuple[str, Any]]:
    yield at, item
    if depth >= _DEPTH:
        return
    parts: list[tuple[str, Any]] = []
    if isinstance(item, Mapping):
        parts = [(f"[{key!r}]", value) for key, value in item.items()]
    elif isinstance(item, (list, tuple)):
        parts = [(f"[{place}]", value) for place, value in enumerate(item)]
    elif is_dataclass(item) and not isinstance(item, type):
        parts = [(f".{field.name}", getattr(item, field.name, None)) for field in fields(item)]
    for way, value in parts:
        yield from _parts_below(value, at + way, depth + 1)
