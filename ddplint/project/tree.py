"""The project's files and folders, and what an import means at a place among them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from ddplint.project.walk import scan

_SOURCE_FOLDERS = ("src", "lib", "python")
_INSTALLED = sys.stdlib_module_names | {
    "accelerate", "apex", "cv2", "deepspeed", "horovod", "jax", "lightning", "matplotlib", "megengine", "numpy",
    "pandas", "PIL", "pytorch_lightning", "ray", "scipy", "sklearn", "tensorboard", "tensorboardX", "tensorflow",
    "timm", "torch", "torchaudio", "torchdata", "torchvision", "tqdm", "transformers", "wandb", "yaml",
}  # fmt: skip
"""Names that, inside a package, mean what is installed and not the package's own file of that name."""


class Tree:
    """The Python files below ``root``, as they stood when it was made; no file is read."""

    def __init__(self, root: str, unsaved: Iterable[str] = ()) -> None:
        """``root`` and ``unsaved`` (files whose text is given, on disk or not) are absolute real paths."""
        self.root = root
        found: list[str] = []
        links: list[str] = []
        for path, is_link in scan(root):
            (links if is_link else found).append(path)
        found += [path for path in unsaved if path.startswith(root + os.sep) and not os.path.exists(path)]
        self.files = tuple(sorted(set(found)))
        self._files = frozenset(found)
        self._folders = {root}
        for path in found:
            self._add_folders(os.path.dirname(path))
        self._aliases = {link: target for link in links if self._holds(target := os.path.realpath(link))}
        self._first_names = self._importable_names()
        self._places: dict[str, tuple[str, ...]] = {}
        self._resolved: dict[tuple[str, str, int], str | None] = {}

    def __contains__(self, path: str) -> bool:
        """Whether the file ``path`` is part of the tree."""
        return path in self._files

    def resolve(self, importer: str, name: str, level: int = 0) -> str | None:
        """See ``Project.resolve``."""
        if level == 0 and name.partition(".")[0] not in self._first_names:
            return None
        folder, file = os.path.split(importer)
        if level == 0 and file == name.partition(".")[0] + ".py":
            return self._absolute(importer, folder, name)
        key = (folder, name, level)
        if key not in self._resolved:
            if level:
                self._resolved[key] = self._relative(folder, name, level)
            else:
                self._resolved[key] = self._absolute(importer, folder, name)
        return self._resolved[key]

    def submodule(self, path: str, name: str) -> str | None:
        """See ``Project.submodule``."""
        folder = self.folder_of(path)
        return None if folder is None else self._child(folder, name)

    def folder_of(self, path: str) -> str | None:
        """The folder in which the submodules of the module at ``path`` stand; ``None`` for a plain module."""
        if path in self._folders:
            return path
        folder, file = os.path.split(path)
        return folder if file == "__init__.py" else None

    def packages_above(self, path: str, stop: str) -> Iterator[str]:
        """The ``__init__.py`` of each package between the module at ``path`` and the folder ``stop``."""
        folder = os.path.dirname(path)
        while folder != stop and len(folder) > len(self.root):
            init = os.path.join(folder, "__init__.py")
            if init in self._files:
                yield init
            folder = os.path.dirname(folder)

    def _add_folders(self, folder: str) -> None:
        while folder not in self._folders:
            self._folders.add(folder)
            folder = os.path.dirname(folder)

    def _holds(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def _importable_names(self) -> frozenset[str]:
        """Every first component that can mean something in the tree."""
        paths = (*self._files, *self._folders, *self._aliases)
        return frozenset(os.path.basename(path).removesuffix(".py") for path in paths)

    def _relative(self, folder: str, name: str, level: int) -> str | None:
        for _ in range(level - 1):
            if folder == self.root:
                return None
            folder = os.path.dirname(folder)
        if folder not in self._folders:
            return None
        return self._below(folder, name) if name else self._package(folder)

    def _absolute(self, importer: str, folder: str, name: str) -> str | None:
        """The nearest file that ``name`` may mean; a folder without ``__init__.py`` only where there is no file."""
        installed = name.partition(".")[0] in _INSTALLED
        namespace = None
        for place in self._places_of(folder):
            if installed and os.path.join(place, "__init__.py") in self._files:
                continue
            found = self._below(place, name)
            if found is None or (found == importer and not found.endswith(os.sep + "__init__.py")):
                continue
            if found in self._files:
                return found
            namespace = namespace or found
        return self._in_root_package(name) or (None if installed else namespace)

    def _in_root_package(self, name: str) -> str | None:
        """What ``name`` means if the root is itself the package that ``name`` starts with."""
        first, _, rest = name.partition(".")
        init = os.path.join(self.root, "__init__.py")
        if first != os.path.basename(self.root) or init not in self._files:
            return None
        return self._below(self.root, rest) if rest else init

    def _places_of(self, folder: str) -> tuple[str, ...]:
        """The folders in which a first component is looked for, nearest first."""
        if folder not in self._places:
            own = (folder, *(os.path.join(folder, source) for source in _SOURCE_FOLDERS))
            own = tuple(place for place in own if place in self._folders)
            parent = os.path.dirname(folder)
            above = self._places_of(parent) if len(folder) > len(self.root) else ()
            self._places[folder] = own + above
        return self._places[folder]

    def _below(self, folder: str, name: str) -> str | None:
        """The module with the dotted ``name`` below ``folder``."""
        path: str | None = folder
        for part in name.split("."):
            within = self.folder_of(path) if path else None
            path = None if within is None else self._child(within, part)
        return path

    def _child(self, folder: str, name: str) -> str | None:
        """The package, module or plain folder called ``name`` in ``folder``, in Python's order."""
        child = os.path.join(folder, name)
        below = self._aliases.get(child, child)
        init = os.path.join(below, "__init__.py")
        init = self._aliases.get(init, init)
        if init in self._files:
            return init
        module = child + ".py"
        module = self._aliases.get(module, module)
        if module in self._files:
            return module
        return below if name and below in self._folders else None

    def _package(self, folder: str) -> str:
        init = os.path.join(folder, "__init__.py")
        return init if init in self._files else folder
