"""Acts right after the program has imported a module."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING

from ddplint.harness.watch.probe import patching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_actions: dict[str, Callable[[ModuleType], None]] = {}


def after(name: str, action: Callable[[ModuleType], None]) -> None:
    """Call ``action`` with the module of that ``name`` when the program has imported it."""
    _actions[name] = action


def install() -> None:
    """Begin to wait for the modules named to ``after``."""
    sys.meta_path.insert(0, _Waiting())


class _Waiting(MetaPathFinder):
    """Finds what the other finders find, with a loader that acts afterwards."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _actions:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Acting(spec.loader, fullname)
                return spec
        return None


class _Acting(Loader):
    """A loader that hands the module its own loader back, and acts once it is executed."""

    def __init__(self, loader: Loader, name: str) -> None:
        self._loader = loader
        self._name = name

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        action = _actions.pop(self._name, None)
        if action is not None:
            patching.attempt(self._name, action, module)
