"""The project's files and folders, and what an import means at a place among them."""

from __future__ import annotations

import os
import sys

from ddplint.project.walk import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_INIT = os.sep + "__init__.py"
_SOURCE_FOLDERS = ("src", "lib", "python")
_INSTALLED = sys.stdlib_module_names | {
    "accelerate", "apex", "cv2", "deepspeed", "horovod", "jax", "lightning", "matplotlib", "megengine", "numpy",
    "pandas", "PIL", "pytorch_lightning", "ray", "scipy", "sklearn", "tensorboard", "tensorboardX", "tensorflow",
    "timm", "torch", "torchaudio", "torchdata", "torchvision", "tqdm", "transformers", "wandb", "yaml",
}  # fmt: skip
"""Names that mean what is installed, unless a script's own folder holds a module of that name, or a package has it."""


class Tree:
    """The Python files below ``root``, as they stood when it was made; no file is read."""

    def __init__(self, root: str, unsaved: Iterable[str] = ()) -> None:
        """``root`` and ``unsaved`` (files whose text is given, on disk or not) are absolute real paths."""
        self.root = root
        found: list[str] = []
        links: list[str] = []
        for path, is_link in scan(root):
            (links if is_link else found).append(path)
        inside = os.path.join(root, "")
        found += [
            path for path in unsaved if path.startswith(inside) and path.endswith(".py") and not os.path.exists(path)
        ]
        self.files = tuple(sorted(set(found)))
        self._files = frozenset(found)
        self._folders = {root}
        for path in found:
            self._add_folders(os.path.dirname(path))
        self._aliases = {link: target for link in links if self._holds(target := os.path.realpath(link))}
        paths = (*self._files, *self._folders, *self._aliases)
        self.names = frozenset(os.path.basename(path).removesuffix(".py") for path in paths)
        """The names of all modules and folders: a component that is not among them is not in the tree."""
        self._places: dict[str, tuple[str, ...]] = {}
        self._packages: dict[tuple[str, str], tuple[str, ...]] = {}
        self._resolved: dict[tuple[str, str, int], str | None] = {}

    def __contains__(self, path: str) -> bool:
        """Whether the file ``path`` is part of the tree."""
        return path in self._files

    def is_like(self, other: Tree) -> bool:
        """Whether ``other`` gives the same answers, as far as both have the same root."""
        return self.files == other.files and self._aliases == other._aliases

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        """See ``Project.resolve``."""
        folder, _, file = importer.rpartition(os.sep)
        first = name.partition(".")[0]
        if name and first not in self.names:
            return None
        if level == 0 and file == first + ".py":
            return self._absolute(folder, name, importer)
        if level == 0 and os.path.basename(folder) == first and folder + _INIT in self._files and folder != self.root:
            folder = os.path.dirname(folder)  # inside a package, its own name means the package
        key = (folder, name, level)
        if key not in self._resolved:
            found = self._relative(folder, name, level) if level else self._absolute(folder, name)
            self._resolved[key] = found
        return self._resolved[key]

    def submodule(self, path: str, name: str) -> str | None:
        """See ``Project.submodule``."""
        folder = self._folder_of(path) if name in self.names else None
        return None if folder is None else self._child(folder, name)

    def _folder_of(self, path: str) -> str | None:
        """The folder in which the submodules of the module at ``path`` stand; ``None`` for a plain module."""
        if path in self._folders:
            return path
        return path[: -len(_INIT)] if path.endswith(_INIT) else None

    def packages_above(self, path: str, stop: str) -> tuple[str, ...]:
        """The ``__init__.py`` of the packages that hold the module at ``path``, as far up as the folder ``stop``."""
        key = path.rpartition(os.sep)[0], stop
        if key not in self._packages:
            above = self._up_to_root(key[0])
            above = above[: above.index(stop)] if stop in above else above[:-1]
            self._packages[key] = tuple(init for folder in above if (init := folder + _INIT) in self._files)
        return self._packages[key]

    def _up_to_root(self, folder: str) -> list[str]:
        """``folder`` and the folders above it, as far as the root."""
        above = [folder]
        while len(folder) > len(self.root):
            folder = os.path.dirname(folder)
            above.append(folder)
        return above

    def _add_folders(self, folder: str) -> None:
        while folder not in self._folders:
            self._folders.add(folder)
            folder = os.path.dirname(folder)

    def _holds(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def _relative(self, folder: str, name: str, level: int) -> str | None:
        for _ in range(level - 1):
            if folder == self.root:
                return None
            folder = os.path.dirname(folder)
        if folder not in self._folders:
            return None
        return self._below(folder, name) if name else self._package(folder)

    def _absolute(self, folder: str, name: str, besides: str | None = None) -> str | None:
        """The nearest file but ``besides`` that ``name`` may mean in ``folder``.

        A folder without ``__init__.py`` only where there is no file.
        """
        installed = name.partition(".")[0] in _INSTALLED
        namespace = None
        for place in self._places_of(folder):
            found = self._below(place, name)
            if found in self._folders:
                namespace = namespace or found
            elif found is not None and found != besides and not (installed and self._is_hidden(found, place, folder)):
                return found
        return self._in_root_package(name) or (None if installed else namespace)

    def _is_hidden(self, found: str, place: str, folder: str) -> bool:
        """Whether the file ``found`` in ``place`` gives way, for an importer in ``folder``, to what is installed."""
        is_package = place + _INIT in self._files
        is_plain_module = found.rpartition(os.sep)[0] == place
        return is_package or (is_plain_module and place != folder)

    def _in_root_package(self, name: str) -> str | None:
        """What ``name`` means if the root is itself the package that ``name`` starts with."""
        first, _, rest = name.partition(".")
        init = self.root + _INIT
        if first != os.path.basename(self.root) or init not in self._files:
            return None
        return self._below(self.root, rest) if rest else init

    def _places_of(self, folder: str) -> tuple[str, ...]:
        """The folders in which a first component is looked for, nearest first."""
        if folder not in self._places:
            self._places[folder] = tuple(
                place
                for above in self._up_to_root(folder)
                for place in (above, *(f"{above}{os.sep}{source}" for source in _SOURCE_FOLDERS))
                if place in self._folders
            )
        return self._places[folder]

    def _below(self, folder: str, name: str) -> str | None:
        """The module with the dotted ``name`` below ``folder``."""
        path: str | None = folder
        for part in name.split("."):
            within = self._folder_of(path) if path else None
            path = None if within is None else self._child(within, part)
        return path

    def _child(self, folder: str, name: str) -> str | None:
        """The package, module or plain folder called ``name`` in ``folder``, in Python's order."""
        child = f"{folder}{os.sep}{name}"
        below = self._aliases.get(child, child)
        init = below + _INIT
        init = self._aliases.get(init, init)
        if init in self._files:
            return init
        module = child + ".py"
        module = self._aliases.get(module, module)
        if module in self._files:
            return module
        return below if below in self._folders else None

    def _package(self, folder: str) -> str:
        init = folder + _INIT
        return init if init in self._files else folder
