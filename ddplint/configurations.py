"""The files from which pylint may read its configuration."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("pylintrc", "pylintrc.toml", ".pylintrc", ".pylintrc.toml", "pyproject.toml", "setup.cfg", "tox.ini")


def possible_configurations(folder: str) -> Iterator[str]:
    """The paths, whether there is a file or not, for a process that stands in the absolute ``folder``."""
    home = os.path.expanduser("~")
    yield from (os.environ.get("PYLINTRC", ""), os.path.join(home, ".pylintrc"))
    yield from (os.path.join(home, ".config", "pylintrc"), "/etc/pylintrc")
    while True:
        yield from (os.path.join(folder, name) for name in _NAMES)
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
